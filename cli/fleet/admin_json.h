// What programs read: one line of ASCII JSON for each answer. docs/json.md lists the fields; they
// are only ever added. What is not known, or does not apply, is null, never 0 or "". Pure.

#ifndef ONEFOLD_CLI_FLEET_ADMIN_JSON_H_
#define ONEFOLD_CLI_FLEET_ADMIN_JSON_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "onefold/v1/admin_service.pb.h"

namespace onefold {

// Without a newline at the end, all of them.
std::string HostsJson(const std::vector<v1::Host>& hosts);
// `done`: what was asked for was done to it; false in a dry run.
std::string HostJson(const v1::Host& host, bool done);
std::string JoinTokenJson(const v1::CreateJoinTokenResponse& token, absl::string_view join);
std::string UserJson(absl::string_view name, v1::UserRole role, absl::string_view bundle_path,
                     absl::string_view coordinator, absl::string_view sign_in_link,
                     const v1::CreateUserResponse& user);
std::string SignInJson(absl::string_view name, absl::string_view link,
                       const v1::CreateSignInResponse& sign_in);
std::string UsersJson(const std::vector<v1::User>& users);
// `removed`: false in a dry run.
std::string RemovedUserJson(const v1::User& user, bool removed);
std::string PoliciesJson(const std::vector<v1::Policy>& policies);
std::string PolicyJson(const v1::Policy& policy, bool deleted);
std::string PolicyChangesJson(const v1::ApplyPoliciesResponse& changes, bool applied);
std::string RunsJson(const std::vector<v1::Run>& runs, const std::vector<std::string>& refused);
std::string RunStateJson(const v1::Run& run);
std::string ErrorJson(const absl::Status& status);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_ADMIN_JSON_H_
