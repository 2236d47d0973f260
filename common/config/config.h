// The configuration of a command: flags override ONEFOLD_* variables, these override the YAML file,
// that overrides the defaults (and Setting::last_variable); every value knows where it came from.
//
// What is wrong is an error that names the place (file and line, variable or flag) and, where a key
// is unknown, the one that was probably meant. Pure: the caller reads files and variables.

#ifndef ONEFOLD_COMMON_CONFIG_CONFIG_H_
#define ONEFOLD_COMMON_CONFIG_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/config/setting.h"

namespace onefold {

// What the layers say, as text.
struct ConfigSources {
  // The file's name, for messages, and what it holds. Both empty: no file.
  std::string file_name = {};
  std::string file_text = {};
  // All variables of the process, as in environ: "NAME=VALUE".
  std::vector<std::string> variables = {};
  // What follows the command's name, without what the caller has answered itself.
  std::vector<std::string> arguments = {};
};

// Flags that every configured command has, taken out of its arguments first.
struct ConfigArguments {
  std::string file = {};  // --config FILE; empty if not given
  bool check = false;     // --check-config
  bool print = false;     // --print-config
  std::vector<std::string> rest = {};
};

// INVALID_ARGUMENT: --config without a file.
absl::StatusOr<ConfigArguments> SplitConfigArguments(const std::vector<std::string>& arguments);

// Values of all settings. A key must be one of the table, and asked for as what it is: anything
// else is a mistake of the program and ends it. Thread-safe once loaded.
class Config {
 public:
  // `settings`: the table. INVALID_ARGUMENT: everything that is wrong, one line each.
  static absl::StatusOr<Config> Load(std::vector<Setting> settings, const ConfigSources& sources);

  const std::string& Text(absl::string_view key) const;
  bool Bool(absl::string_view key) const;
  int64_t Integer(absl::string_view key) const;
  absl::Duration Span(absl::string_view key) const;
  const std::vector<std::string>& List(absl::string_view key) const;
  std::map<std::string, std::string> Map(absl::string_view key) const;

  // "default", "/etc/onefold/worker.yaml:3", "ONEFOLD_LISTEN", "--listen".
  const std::string& Origin(absl::string_view key) const;
  // Whether any layer above the defaults says something.
  bool IsSet(absl::string_view key) const;

  // YAML that gives these values again, with the origin of each in a comment.
  std::string Print() const;

 private:
  struct Entry {
    Setting setting = {};
    SettingValue value = {};
    std::string origin = "default";
  };
  class Loader;

  const Entry& Find(absl::string_view key, SettingType type) const;

  std::vector<Entry> entries_;
};

// Names of variables of ours that belong to nothing: neither to a setting of `known` nor to the
// tests and the script that builds (ONEFOLD_BIN, …). Most likely mistyped. A sentence each.
std::vector<std::string> UnknownVariableWarnings(const std::vector<std::string>& variables,
                                                 const std::vector<Setting>& known);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_CONFIG_CONFIG_H_
