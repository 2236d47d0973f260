// `onefold fleet user link`: a person's way to the web page.

#ifndef ONEFOLD_CLI_FLEET_SIGN_IN_COMMANDS_H_
#define ONEFOLD_CLI_FLEET_SIGN_IN_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/fleet/verb.h"

namespace onefold {

const Verb& SignInLinkVerb();

// What a person opens to sign in. The token stands behind the '#', which browsers send to nobody.
std::string SignInLink(const v1::CreateSignInResponse& sign_in);

// A link for somebody who was just added; empty where no page is served, or the coordinator is too
// old to have one.
absl::StatusOr<std::string> LinkForNewUser(AdminClient& client, absl::string_view name);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_SIGN_IN_COMMANDS_H_
