// `onefold dedupe`: wires coordinator and worker together in one process and runs them.

#ifndef ONEFOLD_CLI_DEDUPE_COMMAND_H_
#define ONEFOLD_CLI_DEDUPE_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kDedupeCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_DEDUPE_COMMAND_H_
