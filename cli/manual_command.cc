#include "cli/manual_command.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_line.h"
#include "cli/fleet/fleet_command.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/run_summary.h"
#include "common/escape.h"

namespace onefold {
namespace {

std::string ManHelp() {
  return R"(Usage:  onefold man [COMMAND…]
        onefold man --directory DIR

Prints the manual page of a command as roff: `onefold man dedupe | man -l -`. Where onefold is
installed, `man onefold-dedupe` shows the same.

  --directory DIR          write the pages of all commands into the directory, which must exist
  -h, --help               this text
)";
}

std::string CompletionHelp() {
  return R"(Usage:  onefold completion bash|zsh|fish
        onefold completion names hosts|volumes|runs|policies

Prints what makes a shell complete commands and options of onefold when Tab is pressed. Where
onefold is installed as a package, that is done already. Else:

  bash    onefold completion bash > ~/.local/share/bash-completion/completions/onefold
  zsh     onefold completion zsh > a file _onefold in a directory of $fpath
  fish    onefold completion fish > ~/.config/fish/completions/onefold.fish

Names of hosts, volumes, runs and policies are asked of the coordinator, if one answers within two
seconds; `onefold completion names` prints them, one a line.

  -h, --help               this text
)";
}

int Refuse(const std::string& message, const char* command) {
  std::fprintf(stderr, "onefold: %s\nTry: onefold %s --help\n", message.c_str(), command);
  return kExitRefused;
}

int WritePages(const std::string& directory) {
  for (const ManPage& page : ManPages(kProgram, VersionNumber())) {
    const std::string path = absl::StrCat(directory, "/", page.name, ".1");
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << page.text;
    file.close();
    if (!file) return Refuse(absl::StrCat("cannot write ", Escape(path)), "man");
  }
  return kExitDone;
}

int RunMan(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] == "--directory") {
    if (arguments.size() != 2) return Refuse("--directory: one directory is needed", "man");
    return WritePages(arguments[1]);
  }
  std::vector<std::string> words = {"onefold"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string name = absl::StrJoin(words, "-");
  for (const ManPage& page : ManPages(kProgram, VersionNumber())) {
    if (page.name == name) return PrintText(page.text);
  }
  return Refuse(absl::StrCat("there is no page ", Escape(name)), "man");
}

int RunCompletion(const Arguments& arguments) {
  const std::string shell = arguments.empty() ? "" : arguments[0];
  if (shell == "names") return RunNames(Arguments(arguments.begin() + 1, arguments.end()));
  if (arguments.size() == 1) {
    const std::vector<CompletedCommand> commands = CompletedCommands(kProgram);
    if (shell == "bash") return PrintText(BashCompletion(commands));
    if (shell == "zsh") return PrintText(ZshCompletion(commands));
    if (shell == "fish") return PrintText(FishCompletion(commands));
  }
  return Refuse("which shell? bash, zsh or fish", "completion");
}

}  // namespace

const Command kManCommand = {.name = "man",
                             .parameters = "COMMAND…",
                             .summary = "print a manual page",
                             .help = ManHelp,
                             .run = RunMan};
const Command kCompletionCommand = {.name = "completion",
                                    .parameters = "SHELL",
                                    .summary = "what makes a shell complete commands",
                                    .help = CompletionHelp,
                                    .run = RunCompletion};

}  // namespace onefold
