// `onefold standalone`: coordinator and worker in one process: a NAS with a schedule.

#ifndef ONEFOLD_CLI_STANDALONE_COMMAND_H_
#define ONEFOLD_CLI_STANDALONE_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kStandaloneCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_STANDALONE_COMMAND_H_
