#include "cli/config_loader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/run_summary.h"
#include "cli/settings.h"
#include "common/escape.h"
#include "common/status_macros.h"

extern char** environ;

namespace onefold {
namespace {

// Just above what the parser takes, so that it says that it is too much.
constexpr size_t kFileBytesMax = (size_t{1} << 20) + 1;

absl::StatusOr<std::string> ReadFile(const std::string& name) {
  struct stat status;
  if (::stat(name.c_str(), &status) != 0) {
    return absl::ErrnoToStatus(errno, Escape(name));
  }
  if (S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(Escape(name), " is a directory"));
  }
  std::ifstream file(name, std::ios::binary);
  if (!file) return absl::ErrnoToStatus(errno, Escape(name));
  std::string text(kFileBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return absl::ErrnoToStatus(EIO, Escape(name));
  return text;
}

std::vector<std::string> Variables() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  return variables;
}

// The file that is read, with its text; neither if there is none.
absl::Status AddFile(const ConfiguredCommand& command, const std::string& given,
                     ConfigSources& sources) {
  std::string name = given;
  const char* variable = std::getenv("ONEFOLD_CONFIG");
  if (name.empty() && variable != nullptr) name = variable;
  const bool is_default = name.empty();
  if (is_default) name = command.default_file;
  if (is_default && ::access(name.c_str(), F_OK) != 0 && errno == ENOENT) return absl::OkStatus();
  ASSIGN_OR_RETURN(sources.file_text, ReadFile(name));
  sources.file_name = name;
  return absl::OkStatus();
}

int Refuse(const ConfiguredCommand& command, const absl::Status& status) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    std::fprintf(stderr, "onefold: %s\n", EscapeText(line).c_str());
  }
  std::fprintf(stderr, "Try: %s --help\n", command.name);
  return kExitRefused;
}

}  // namespace

LoadedConfig LoadCommandConfig(const ConfiguredCommand& command, const Arguments& arguments) {
  const auto refuse = [&](const absl::Status& status) {
    return LoadedConfig{.exit_code = Refuse(command, status)};
  };
  const absl::StatusOr<ConfigArguments> split = SplitConfigArguments(arguments);
  if (!split.ok()) return refuse(split.status());
  ConfigSources sources{.variables = Variables(), .arguments = split->rest};
  const absl::Status read = AddFile(command, split->file, sources);
  if (!read.ok()) return refuse(read);
  absl::StatusOr<Config> config = Config::Load(command.settings, sources);
  if (!config.ok()) return refuse(config.status());
  if (command.check != nullptr) {
    const absl::Status fits = command.check(*config);
    if (!fits.ok()) return refuse(fits);
  }
  LoadedConfig loaded;
  loaded.warnings = UnknownVariableWarnings(sources.variables, AllSettings());
  if (split->check || split->print) {
    for (const std::string& warning : loaded.warnings) {
      std::fprintf(stderr, "onefold: warning: %s\n", EscapeText(warning).c_str());
    }
    loaded.exit_code = PrintText(split->print ? config->Print() : "the configuration is valid\n");
    return loaded;
  }
  loaded.config = *std::move(config);
  return loaded;
}

std::string ConfigHelp(const ConfiguredCommand& command) {
  return absl::StrCat(
      "Settings:\n", SettingsHelp(command.settings),
      "\nThe same settings stand in the YAML file, with _ for -, and in variables: "
      "--state-directory "
      "is\nstate_directory: and ONEFOLD_STATE_DIRECTORY. Flags override variables, these the file, "
      "that the\ndefaults.\n\n"
      "  --config FILE            the file; default ",
      command.default_file,
      ", if it is there\n"
      "  --check-config           say what is wrong with the configuration; exit 0 or 1\n"
      "  --print-config           print every value and where it comes from\n"
      "  -h, --help               this text\n");
}

}  // namespace onefold
