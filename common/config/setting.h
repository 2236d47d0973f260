// One setting of a program: its key, what it may be, its default, its help. A table of these is all
// a command says about its configuration. Pure.
//
// The key `state_directory` is the flag --state-directory, the variable ONEFOLD_STATE_DIRECTORY and
// a line of the YAML file.

#ifndef ONEFOLD_COMMON_CONFIG_SETTING_H_
#define ONEFOLD_COMMON_CONFIG_SETTING_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

enum class SettingType {
  kText,
  kBool,      // true, false; yes, no, on, off
  kInteger,   // from minimum to maximum
  kDuration,  // "30s", "1h30m"; never negative
  kList,      // of texts
  kMap,       // of texts, by name
};

struct Setting {
  const char* key = "";
  SettingType type = SettingType::kText;
  // As in a flag; items of a list or map divided by commas. Must be valid.
  const char* default_value = "";
  // A sentence or two, without a full stop.
  const char* help = "";
  // What stands for the value in help: "DIR".
  const char* parameter = "VALUE";
  // Of kInteger.
  int64_t minimum = 0;
  int64_t maximum = std::numeric_limits<int64_t>::max();
  // If not empty, the texts that are allowed, divided by '|'.
  const char* choices = "";
  // Asked about a text, and about each item of a list or value of a map. The message completes
  // "KEY: 'VALUE' ": "is no address".
  absl::Status (*check)(absl::string_view value) = nullptr;
  // Of a setting whose name as a variable would mean something else, too: the variable's name.
  const char* variable = "";
  // A variable of other meaning that counts where no layer says anything.
  const char* last_variable = "";
};

// "--state-directory", "ONEFOLD_STATE_DIRECTORY".
std::string FlagName(const Setting& setting);
std::string VariableName(const Setting& setting);

// A value in its canonical form: "true" or "false", decimal digits, items in their order.
struct SettingValue {
  // Of everything but lists and maps.
  std::string text = {};
  // Of a list.
  std::vector<std::string> items = {};
  // Of a map, by name.
  std::vector<std::pair<std::string, std::string>> entries = {};

  friend bool operator==(const SettingValue&, const SettingValue&) = default;
};

// Bounds of lists and maps; nobody types more.
inline constexpr size_t kSettingItemsMax = 1000;
inline constexpr size_t kSettingTextBytesMax = 4096;

// A value given as one text: a default or a variable. Items are divided by commas, the entries of a
// map are NAME=VALUE.
//
// INVALID_ARGUMENT: the message has key and value.
absl::StatusOr<SettingValue> ParseSetting(const Setting& setting, absl::string_view text);

// A value given in pieces, as repeated flags or a YAML list: one for what is no list or map.
absl::StatusOr<SettingValue> ParseSettingItems(const Setting& setting,
                                               const std::vector<std::string>& items);

// Entries of a map given in pairs.
absl::StatusOr<SettingValue> ParseSettingEntries(
    const Setting& setting, std::vector<std::pair<std::string, std::string>> entries);

// The setting and how it is given, for help: "--listen ADDRESS  …", wrapped at 100 columns.
std::string SettingsHelp(const std::vector<Setting>& settings);

// Checks for `Setting::check`.
absl::Status CheckAbsolutePath(absl::string_view value);
absl::Status CheckAbsolutePathOrEmpty(absl::string_view value);
// "host:port", "[v6]:port" or "unix:/path".
absl::Status CheckAddress(absl::string_view value);
absl::Status CheckAddressOrEmpty(absl::string_view value);
// An IP address and a port to listen on, or "unix:/path".
absl::Status CheckListenAddress(absl::string_view value);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_CONFIG_SETTING_H_
