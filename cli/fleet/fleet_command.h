// `onefold fleet`, `onefold policy` and `onefold run`: what people ask of a coordinator.

#ifndef ONEFOLD_CLI_FLEET_FLEET_COMMAND_H_
#define ONEFOLD_CLI_FLEET_FLEET_COMMAND_H_

#include "cli/command.h"

namespace onefold {

extern const Command kFleetCommand;
extern const Command kPolicyCommand;
extern const Command kRunCommand;

// onefold completion names: see name_command.h.
int RunNames(const Arguments& arguments);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_FLEET_COMMAND_H_
