// onefold fleet list | drain | resume | forget | token create | user add

#ifndef ONEFOLD_CLI_FLEET_HOST_COMMANDS_H_
#define ONEFOLD_CLI_FLEET_HOST_COMMANDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "cli/fleet/verb.h"

namespace onefold {

const Verb& ListHostsVerb();
const Verb& DrainHostVerb();
const Verb& ResumeHostVerb();
const Verb& ForgetHostVerb();
const Verb& CreateTokenVerb();
const Verb& AddUserVerb();

// All hosts of the fleet, page by page. RESOURCE_EXHAUSTED if it never ends.
absl::StatusOr<std::vector<v1::Host>> AllHosts(AdminClient& client);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_HOST_COMMANDS_H_
