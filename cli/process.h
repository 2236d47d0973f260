// What every program of ours does before its first command: descriptors, signals, limits, and what
// libraries have to be told.

#ifndef ONEFOLD_CLI_PROCESS_H_
#define ONEFOLD_CLI_PROCESS_H_

#include "cli/command.h"

namespace onefold {

// `onefold version`.
extern const Command kVersionCommand;

// To be called first, once.
void PrepareProcess();

// Runs what the command line names; also `--version`. Returns the exit code.
int RunProgram(const CommandGroup& program, int argc, char** argv);

}  // namespace onefold

#endif  // ONEFOLD_CLI_PROCESS_H_
