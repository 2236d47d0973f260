// AdminClient: what a person's commands ask of a coordinator. Real: GrpcAdminClient
// (grpc_admin_client.h). Tests: FakeAdminClient (testing/fake_admin_client.h).
//
// Not thread-safe. All calls block, none longer than kAdminCallDeadline but WatchRun.
//
// Codes are those of admin_service.proto, and
//   UNAVAILABLE        nobody answers at the address, or what answers speaks no TLS
//   DEADLINE_EXCEEDED  it took too long; whether something was changed is not known
//   UNAUTHENTICATED    our certificate is not accepted, or is missing
//   UNIMPLEMENTED      who answers does not know the call

#ifndef ONEFOLD_CLI_FLEET_ADMIN_CLIENT_H_
#define ONEFOLD_CLI_FLEET_ADMIN_CLIENT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "onefold/v1/admin_service.pb.h"

namespace onefold {

// A person waits in front of it; an apply over thousands of volumes takes less than a second.
inline constexpr absl::Duration kAdminCallDeadline = absl::Seconds(20);

class AdminClient {
 public:
  virtual ~AdminClient() = default;

  // Where the coordinator is, as people write it.
  virtual const std::string& address() const = 0;

  virtual absl::StatusOr<v1::ListHostsResponse> ListHosts(const v1::ListHostsRequest& request) = 0;
  virtual absl::StatusOr<v1::DrainHostResponse> DrainHost(const v1::DrainHostRequest& request) = 0;
  virtual absl::StatusOr<v1::ResumeHostResponse> ResumeHost(
      const v1::ResumeHostRequest& request) = 0;
  virtual absl::StatusOr<v1::ForgetHostResponse> ForgetHost(
      const v1::ForgetHostRequest& request) = 0;
  virtual absl::StatusOr<v1::CreateJoinTokenResponse> CreateJoinToken(
      const v1::CreateJoinTokenRequest& request) = 0;
  virtual absl::StatusOr<v1::CreateUserResponse> CreateUser(
      const v1::CreateUserRequest& request) = 0;
  virtual absl::StatusOr<v1::ListUsersResponse> ListUsers(const v1::ListUsersRequest& request) = 0;
  virtual absl::StatusOr<v1::RemoveUserResponse> RemoveUser(
      const v1::RemoveUserRequest& request) = 0;
  virtual absl::StatusOr<v1::CreateSignInResponse> CreateSignIn(
      const v1::CreateSignInRequest& request) = 0;
  virtual absl::StatusOr<v1::ApplyPoliciesResponse> ApplyPolicies(
      const v1::ApplyPoliciesRequest& request) = 0;
  virtual absl::StatusOr<v1::ListPoliciesResponse> ListPolicies(
      const v1::ListPoliciesRequest& request) = 0;
  virtual absl::StatusOr<v1::DeletePolicyResponse> DeletePolicy(
      const v1::DeletePolicyRequest& request) = 0;
  virtual absl::StatusOr<v1::StartRunsResponse> StartRuns(const v1::StartRunsRequest& request) = 0;
  virtual absl::StatusOr<v1::CancelRunResponse> CancelRun(const v1::CancelRunRequest& request) = 0;
  virtual absl::StatusOr<v1::PauseRunResponse> PauseRun(const v1::PauseRunRequest& request) = 0;
  virtual absl::StatusOr<v1::ResumeRunResponse> ResumeRun(const v1::ResumeRunRequest& request) = 0;
  virtual absl::StatusOr<v1::ListRunsResponse> ListRuns(const v1::ListRunsRequest& request) = 0;

  // Calls `on_change` with the run as it is and whenever it has changed. OK when the coordinator
  // ended the stream, which it does once the run has ended; DEADLINE_EXCEEDED after `deadline`.
  virtual absl::Status WatchRun(const v1::WatchRunRequest& request, absl::Duration deadline,
                                const std::function<void(const v1::Run&)>& on_change) = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_ADMIN_CLIENT_H_
