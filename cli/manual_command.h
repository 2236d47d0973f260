// onefold man, onefold completion

#ifndef ONEFOLD_CLI_MANUAL_COMMAND_H_
#define ONEFOLD_CLI_MANUAL_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kManCommand;
extern const Command kCompletionCommand;
// All commands; main.cc lists them.
extern const CommandGroup kProgram;

}  // namespace onefold

#endif  // ONEFOLD_CLI_MANUAL_COMMAND_H_
