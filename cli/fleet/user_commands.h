// onefold fleet user add | list | remove

#ifndef ONEFOLD_CLI_FLEET_USER_COMMANDS_H_
#define ONEFOLD_CLI_FLEET_USER_COMMANDS_H_

#include "cli/fleet/verb.h"

namespace onefold {

const Verb& AddUserVerb();
const Verb& ListUsersVerb();
const Verb& RemoveUserVerb();

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_USER_COMMANDS_H_
