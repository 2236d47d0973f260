#include "cli/doctor/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/escape.h"

namespace onefold {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPlain[] = "\x1b[0m";
constexpr size_t kWordColumns = 9;

const char* ColourOf(Severity severity) {
  switch (severity) {
    case Severity::kOk: return "\x1b[32m";
    case Severity::kNotice: return "\x1b[36m";
    case Severity::kWarning: return "\x1b[33m";
    case Severity::kError: return "\x1b[31m";
  }
  return "";
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(ReplaceNonUtf8(text));
}

}  // namespace

std::string FindingsText(const std::vector<Finding>& findings, bool colour) {
  std::string out;
  size_t trouble = 0;
  for (const Finding& finding : findings) {
    if (finding.severity >= Severity::kWarning) ++trouble;
    const std::string word = SeverityWord(finding.severity);
    absl::StrAppend(&out, colour ? ColourOf(finding.severity) : "", word, colour ? kPlain : "",
                    std::string(kWordColumns - word.size(), ' '), finding.kind);
    if (!finding.subject.empty()) absl::StrAppend(&out, " ", Escape(finding.subject));
    absl::StrAppend(&out, ": ", EscapeText(finding.text), "\n");
    if (!finding.command.empty()) {
      absl::StrAppend(&out, std::string(kWordColumns, ' '), "→ ", EscapeText(finding.command),
                      "\n");
    }
  }
  absl::StrAppend(&out, trouble == 0   ? "Nothing is in the way.\n"
                        : trouble == 1 ? "One thing to mend.\n"
                                       : absl::StrCat(trouble, " things to mend.\n"));
  return out;
}

std::string FindingsJson(const std::vector<Finding>& findings) {
  Json json;
  json["schema"] = "onefold.doctor.v1";
  Severity worst = Severity::kOk;
  Json list = Json::array();
  for (const Finding& finding : findings) {
    worst = std::max(worst, finding.severity);
    Json item;
    item["severity"] = SeverityWord(finding.severity);
    item["kind"] = finding.kind;
    item["subject"] = TextOrNull(finding.subject);
    item["text"] = ReplaceNonUtf8(finding.text);
    item["command"] = TextOrNull(finding.command);
    list.push_back(std::move(item));
  }
  json["worst"] = SeverityWord(worst);
  json["findings"] = std::move(list);
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace onefold
