// `onefold coordinator`: the service that keeps index and state of a fleet.

#ifndef ONEFOLD_CLI_COORDINATOR_COMMAND_H_
#define ONEFOLD_CLI_COORDINATOR_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kCoordinatorCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_COORDINATOR_COMMAND_H_
