// The program's commands as a tree of tables. A command is a constant in a file of its own
// (cli/x_command.h declares kXCommand); main.cc lists the top of the tree, and a command that has
// commands of its own, like `onefold fleet`, lists those.

#ifndef ONEFOLD_CLI_COMMAND_H_
#define ONEFOLD_CLI_COMMAND_H_

#include <cstddef>
#include <string>
#include <vector>

namespace onefold {

using Arguments = std::vector<std::string>;

struct CommandGroup;

// One command: either a leaf (`help` and `run`) or a node (`group`). Constants, so that nothing
// depends on the order in which files are initialised.
struct Command {
  const char* name = "";
  // What follows the name in lists of commands: "PATH…". May be empty.
  const char* parameters = "";
  // A few words for lists of commands.
  const char* summary = "";
  // What `--help` prints.
  std::string (*help)() = nullptr;
  // Does it, with what follows the command's name; returns the exit code. Never asked when the
  // arguments want help.
  int (*run)(const Arguments& arguments) = nullptr;
  // Set instead of help and run.
  const CommandGroup* group = nullptr;
};

// A table of commands with what its help says around the list.
struct CommandGroup {
  // As it is typed: "onefold", "onefold fleet".
  const char* name = "";
  // Before the list, ending in a line break.
  const char* introduction = "";
  const Command* const* commands = nullptr;
  size_t command_count = 0;
  // Behind the list. May be empty.
  const char* closing = "";
};

// The introduction, "Usage:", the list, the closing.
std::string GroupHelp(const CommandGroup& group);

// Finds the command that `arguments` begin with and runs it, however deep it lies. Answers `help`,
// `help COMMAND`, `--help` and `-h` itself. Nothing, or something unknown: says so on stderr and
// returns kExitRefused.
int RunCommandOf(const CommandGroup& group, const Arguments& arguments);

// Whether `arguments` ask for help, wherever that stands before "--".
bool WantsHelp(const Arguments& arguments);

// Prints to stdout. kExitDone, or kExitRefused if that fails.
int PrintText(const std::string& text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_COMMAND_H_
