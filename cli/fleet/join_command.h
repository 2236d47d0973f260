// `onefold fleet join`: makes this machine a host of a fleet.

#ifndef ONEFOLD_CLI_FLEET_JOIN_COMMAND_H_
#define ONEFOLD_CLI_FLEET_JOIN_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kFleetJoinCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_JOIN_COMMAND_H_
