// onefold fleet list | drain | resume | forget | token create

#ifndef ONEFOLD_CLI_FLEET_HOST_COMMANDS_H_
#define ONEFOLD_CLI_FLEET_HOST_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/fleet/verb.h"

namespace onefold {

const Verb& ListHostsVerb();
const Verb& DrainHostVerb();
const Verb& ResumeHostVerb();
const Verb& ForgetHostVerb();
const Verb& CreateTokenVerb();

// All hosts of the fleet, page by page. RESOURCE_EXHAUSTED if it never ends.
absl::StatusOr<std::vector<v1::Host>> AllHosts(AdminClient& client);
// The address at which others find the coordinator; empty if ours is no good for them.
std::string SharedAddress(const AdminClient& client);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_HOST_COMMANDS_H_
