// Completions for shells, from the tables of commands and what --help prints. Pure.

#ifndef ONEFOLD_CLI_MANUAL_COMPLETION_H_
#define ONEFOLD_CLI_MANUAL_COMPLETION_H_

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/manual/help_text.h"

namespace onefold {

// What may stand in a place of the command line: a word that the scripts know what to do with.
//   ""          nothing that could be offered
//   "file", "directory"
//   "hosts", "volumes", "runs", "policies"   asked of the coordinator
using PlaceKind = std::string;

struct CompletedWord {
  std::string word;
  std::string summary;
};

struct CompletedCommand {
  std::string path = {};                  // "onefold fleet list"
  std::vector<CompletedWord> words = {};  // commands below it, or words its usage begins with
  std::vector<HelpOption> options = {};
  PlaceKind operands = {};
};

// `program` and all below it, each node before what is below it.
std::vector<CompletedCommand> CompletedCommands(const CommandGroup& program);

// What a value that help calls `value` ("FILE", "HOST") is, of the command `path`.
PlaceKind PlaceKindOf(const std::string& value, const std::string& path);

std::string BashCompletion(const std::vector<CompletedCommand>& commands);
std::string ZshCompletion(const std::vector<CompletedCommand>& commands);
std::string FishCompletion(const std::vector<CompletedCommand>& commands);

}  // namespace onefold

#endif  // ONEFOLD_CLI_MANUAL_COMPLETION_H_
