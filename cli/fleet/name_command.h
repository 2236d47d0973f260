// onefold completion names KIND: what shells complete with, asked of the coordinator.

#ifndef ONEFOLD_CLI_FLEET_NAME_COMMAND_H_
#define ONEFOLD_CLI_FLEET_NAME_COMMAND_H_

#include "cli/fleet/verb.h"

namespace onefold {

const Verb& NamesVerb();

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_NAME_COMMAND_H_
