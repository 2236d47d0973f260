// The configuration of a subcommand: reads the file and the variables, answers --check-config and
// --print-config, and says what is wrong.

#ifndef ONEFOLD_CLI_CONFIG_LOADER_H_
#define ONEFOLD_CLI_CONFIG_LOADER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command.h"
#include "common/config/config.h"

namespace onefold {

// What a command says about its configuration.
struct ConfiguredCommand {
  // As it is typed: "onefold worker".
  const char* name = "";
  // Read when neither --config nor ONEFOLD_CONFIG names one, if it is there.
  const char* default_file = "";
  std::vector<Setting> settings = {};
  // What no single setting can tell: whether they fit together. May be null.
  absl::Status (*check)(const Config& config) = nullptr;
};

struct LoadedConfig {
  // Unset: the command ends with `exit_code`, everything has been said.
  std::optional<Config> config = {};
  int exit_code = 0;
  // Sentences for the log.
  std::vector<std::string> warnings = {};
};

// Takes the arguments behind the command's name. Errors go to stderr, what was asked for to stdout.
LoadedConfig LoadCommandConfig(const ConfiguredCommand& command, const Arguments& arguments);

// What every help text of a configured command ends with.
std::string ConfigHelp(const ConfiguredCommand& command);

}  // namespace onefold

#endif  // ONEFOLD_CLI_CONFIG_LOADER_H_
