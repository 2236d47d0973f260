#include "coordinator/fleet/selector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace onefold::fleet {
namespace {

constexpr size_t kTextBytesMax = 1024;
constexpr size_t kUuidDigitsMin = 8;
constexpr size_t kUuidDigits = 32;

}  // namespace

bool MatchesPattern(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

std::string UuidDigits(absl::string_view text) {
  const std::string digits = absl::AsciiStrToLower(absl::StrReplaceAll(text, {{"-", ""}}));
  const bool valid = digits.size() >= kUuidDigitsMin && digits.size() <= kUuidDigits &&
                     std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
  return valid ? digits : "";
}

absl::StatusOr<Selector::Term> Selector::ParseTerm(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const auto [name, value] = sides;
  if (!value.empty()) {
    if (name == "host") return Term{What::kHost, "", std::string(value)};
    if (name == "label") return Term{What::kVolumeLabel, "", std::string(value)};
    if (name == "uuid") {
      const std::string digits = UuidDigits(value);
      if (!digits.empty()) return Term{What::kUuid, "", digits};
    }
    absl::string_view key = name;
    if (absl::ConsumePrefix(&key, "label:") && !key.empty()) {
      return Term{What::kHostLabel, std::string(key), std::string(value)};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" selects nothing: write \"all\", or host=NAME, label=LABEL, uuid=UUID, "
                   "label:KEY=VALUE, joined by commas where all must hold"));
}

absl::StatusOr<Selector> Selector::Parse(absl::string_view text) {
  if (text.size() > kTextBytesMax) return absl::InvalidArgumentError("the selector is too long");
  Selector selector;
  selector.text_ = std::string(absl::StripAsciiWhitespace(text));
  if (selector.text_ == "all") return selector;
  selector.text_.clear();
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(part);
    ASSIGN_OR_RETURN(Term term, ParseTerm(trimmed));
    selector.terms_.push_back(std::move(term));
    absl::StrAppend(&selector.text_, selector.text_.empty() ? "" : ",", trimmed);
  }
  return selector;
}

bool Selector::Matches(const Term& term, const Subject& subject) {
  switch (term.what) {
    case What::kHost:
      return MatchesPattern(term.value, subject.host_name) ||
             MatchesPattern(term.value, subject.host_id);
    case What::kVolumeLabel: return MatchesPattern(term.value, subject.volume_label);
    case What::kUuid: return absl::StartsWith(UuidDigits(subject.volume_uuid), term.value);
    case What::kHostLabel: {
      const auto label = subject.host_labels->find(term.key);
      return label != subject.host_labels->end() && MatchesPattern(term.value, label->second);
    }
  }
  return false;
}

bool Selector::Matches(const Subject& subject) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return Matches(term, subject); });
}

}  // namespace onefold::fleet
