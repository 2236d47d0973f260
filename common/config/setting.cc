#include "common/config/setting.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

absl::Status Wrong(const Setting& setting, absl::string_view value, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(setting.key, ": '", Escape(std::string(value)), "' ", what));
}

absl::StatusOr<std::string> ParseBool(const Setting& setting, absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* yes : {"true", "yes", "on", "1"}) {
    if (lower == yes) return "true";
  }
  for (const char* no : {"false", "no", "off", "0"}) {
    if (lower == no) return "false";
  }
  return Wrong(setting, text, "is neither true nor false");
}

absl::StatusOr<std::string> ParseInteger(const Setting& setting, absl::string_view text) {
  int64_t number = 0;
  const bool is_number = !text.empty() && absl::SimpleAtoi(text, &number) &&
                         !absl::ascii_isspace(static_cast<unsigned char>(text.front())) &&
                         !absl::ascii_isspace(static_cast<unsigned char>(text.back()));
  if (is_number && number >= setting.minimum && number <= setting.maximum) {
    return absl::StrCat(number);
  }
  return Wrong(
      setting, text,
      setting.maximum == std::numeric_limits<int64_t>::max()
          ? absl::StrCat("is no whole number from ", setting.minimum, " up")
          : absl::StrCat("is no whole number from ", setting.minimum, " to ", setting.maximum));
}

absl::StatusOr<std::string> ParseSpan(const Setting& setting, absl::string_view text) {
  absl::Duration span;
  if (!absl::ParseDuration(text, &span) || span < absl::ZeroDuration() ||
      span == absl::InfiniteDuration()) {
    return Wrong(setting, text, "is no time span (90s, 10m, 1h30m)");
  }
  return absl::FormatDuration(span);
}

// A text, an item of a list or a value of a map.
absl::Status CheckText(const Setting& setting, absl::string_view text) {
  if (text.size() > kSettingTextBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting.key, ": longer than ", kSettingTextBytesMax, " bytes"));
  }
  if (*setting.choices != '\0') {
    const std::vector<std::string> choices = absl::StrSplit(setting.choices, '|');
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return Wrong(setting, text,
                   absl::StrCat("is not known; it may be ", absl::StrJoin(choices, ", ")));
    }
  }
  if (setting.check == nullptr) return absl::OkStatus();
  const absl::Status status = setting.check(text);
  return status.ok() ? status : Wrong(setting, text, status.message());
}

absl::StatusOr<SettingValue> ParseSingle(const Setting& setting, absl::string_view text) {
  SettingValue value;
  switch (setting.type) {
    case SettingType::kBool: {
      ASSIGN_OR_RETURN(value.text, ParseBool(setting, text));
      return value;
    }
    case SettingType::kInteger: {
      ASSIGN_OR_RETURN(value.text, ParseInteger(setting, text));
      return value;
    }
    case SettingType::kDuration: {
      ASSIGN_OR_RETURN(value.text, ParseSpan(setting, text));
      return value;
    }
    default: break;
  }
  RETURN_IF_ERROR(CheckText(setting, text));
  value.text = std::string(text);
  return value;
}

absl::Status TooMany(const Setting& setting) {
  return absl::InvalidArgumentError(
      absl::StrCat(setting.key, ": more than ", kSettingItemsMax, " values"));
}

bool IsPort(absl::string_view text) {
  int port = 0;
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         absl::SimpleAtoi(text, &port) && port >= 0 && port <= 65535;
}

bool IsHostLetter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
}

}  // namespace

std::string FlagName(const Setting& setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting.key, {{"_", "-"}}));
}

std::string VariableName(const Setting& setting) {
  if (setting.variable[0] != '\0') return setting.variable;
  return absl::StrCat("ONEFOLD_", absl::AsciiStrToUpper(setting.key));
}

absl::StatusOr<SettingValue> ParseSetting(const Setting& setting, absl::string_view text) {
  if (setting.type != SettingType::kList && setting.type != SettingType::kMap) {
    return ParseSingle(setting, text);
  }
  std::vector<std::string> items;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(item);
    if (!stripped.empty()) items.emplace_back(stripped);
  }
  return ParseSettingItems(setting, items);
}

absl::StatusOr<SettingValue> ParseSettingItems(const Setting& setting,
                                               const std::vector<std::string>& items) {
  if (setting.type == SettingType::kMap) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& item : items) {
      const size_t equals = item.find('=');
      if (equals == std::string::npos) return Wrong(setting, item, "is no NAME=VALUE");
      entries.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    }
    return ParseSettingEntries(setting, std::move(entries));
  }
  if (setting.type == SettingType::kList) {
    if (items.size() > kSettingItemsMax) return TooMany(setting);
    for (const std::string& item : items) RETURN_IF_ERROR(CheckText(setting, item));
    return SettingValue{.items = items};
  }
  if (items.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(setting.key, ": one value, please"));
  }
  return ParseSingle(setting, items[0]);
}

absl::StatusOr<SettingValue> ParseSettingEntries(
    const Setting& setting, std::vector<std::pair<std::string, std::string>> entries) {
  if (entries.size() > kSettingItemsMax) return TooMany(setting);
  std::sort(entries.begin(), entries.end());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [name, value] = entries[i];
    if (name.empty() || name.size() > kSettingTextBytesMax) {
      return Wrong(setting, name, "is no name");
    }
    if (i > 0 && entries[i - 1].first == name) return Wrong(setting, name, "is given twice");
    RETURN_IF_ERROR(CheckText(setting, value));
  }
  return SettingValue{.entries = std::move(entries)};
}

std::string SettingsHelp(const std::vector<Setting>& settings) {
  constexpr size_t kIndent = 27;
  constexpr size_t kColumnsMax = 100;
  std::string help;
  for (const Setting& setting : settings) {
    std::string line = absl::StrCat("  ", FlagName(setting));
    if (setting.type != SettingType::kBool) absl::StrAppend(&line, " ", setting.parameter);
    std::string text = setting.help;
    if (*setting.choices != '\0') {
      absl::StrAppend(&text, ": ", absl::StrReplaceAll(setting.choices, {{"|", ", "}}));
    }
    if (setting.type == SettingType::kList || setting.type == SettingType::kMap) {
      absl::StrAppend(&text, "; may be repeated");
    }
    if (*setting.default_value != '\0' && setting.type != SettingType::kBool) {
      absl::StrAppend(&text, "; default ", setting.default_value);
    } else if (setting.type == SettingType::kBool &&
               absl::string_view(setting.default_value) == "true") {
      absl::StrAppend(&text, " (the default; --no-", FlagName(setting).substr(2),
                      " takes it back)");
    }
    if (line.size() + 1 >= kIndent) {
      absl::StrAppend(&help, line, "\n");
      line.clear();
    }
    line.resize(kIndent - 1, ' ');
    for (const absl::string_view word : absl::StrSplit(text, ' ')) {
      if (line.size() + 1 + word.size() > kColumnsMax) {
        absl::StrAppend(&help, line, "\n");
        line.assign(kIndent - 1, ' ');
      }
      absl::StrAppend(&line, " ", word);
    }
    absl::StrAppend(&help, line, "\n");
  }
  return help;
}

absl::Status CheckAbsolutePath(absl::string_view value) {
  if (absl::StartsWith(value, "/")) return absl::OkStatus();
  return absl::InvalidArgumentError("is no absolute path");
}

absl::Status CheckAbsolutePathOrEmpty(absl::string_view value) {
  return value.empty() ? absl::OkStatus() : CheckAbsolutePath(value);
}

absl::Status CheckAddress(absl::string_view value) {
  const absl::Status wrong =
      absl::InvalidArgumentError("is no address (HOST:PORT, [IPV6]:PORT or unix:/PATH)");
  if (absl::ConsumePrefix(&value, "unix:")) {
    return absl::StartsWith(value, "/") ? absl::OkStatus() : wrong;
  }
  const size_t colon = value.rfind(':');
  if (colon == absl::string_view::npos || !IsPort(value.substr(colon + 1))) return wrong;
  absl::string_view host = value.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) {
    if (!absl::ConsumeSuffix(&host, "]")) return wrong;
    const bool is_ip = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
      return absl::ascii_isxdigit(static_cast<unsigned char>(c)) || c == ':' || c == '.' ||
             c == '%';
    });
    return is_ip ? absl::OkStatus() : wrong;
  }
  const bool is_host = !host.empty() && std::all_of(host.begin(), host.end(), IsHostLetter);
  return is_host ? absl::OkStatus() : wrong;
}

absl::Status CheckAddressOrEmpty(absl::string_view value) {
  return value.empty() ? absl::OkStatus() : CheckAddress(value);
}

absl::Status CheckListenAddress(absl::string_view value) {
  if (!CheckAddress(value).ok()) {
    return absl::InvalidArgumentError(
        "is no address to listen on (IP:PORT, [IPV6]:PORT or unix:/PATH)");
  }
  return absl::OkStatus();
}

}  // namespace onefold
