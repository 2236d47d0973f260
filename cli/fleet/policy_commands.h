// onefold policy apply | list | show | delete

#ifndef ONEFOLD_CLI_FLEET_POLICY_COMMANDS_H_
#define ONEFOLD_CLI_FLEET_POLICY_COMMANDS_H_

#include "cli/fleet/verb.h"

namespace onefold {

const Verb& ApplyPolicyVerb();
const Verb& ListPoliciesVerb();
const Verb& ShowPolicyVerb();
const Verb& DeletePolicyVerb();

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_POLICY_COMMANDS_H_
