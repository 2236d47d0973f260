// `onefold health`: whether a coordinator serves; for containers and monitors.

#ifndef ONEFOLD_CLI_HEALTH_COMMAND_H_
#define ONEFOLD_CLI_HEALTH_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kHealthCommand;

}  // namespace onefold

#endif  // ONEFOLD_CLI_HEALTH_COMMAND_H_
