// An AdminClient whose answers are laid ready and whose requests can be looked at.
//
//   client.hosts.Answer(response);  client.hosts.Fail(absl::UnavailableError("…"));
//   client.hosts.requests           what was asked

#ifndef ONEFOLD_CLI_FLEET_TESTING_FAKE_ADMIN_CLIENT_H_
#define ONEFOLD_CLI_FLEET_TESTING_FAKE_ADMIN_CLIENT_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "cli/fleet/admin_client.h"

namespace onefold {

template <typename Request, typename Response>
class FakeCall {
 public:
  void Answer(Response response) { answers_.push_back(std::move(response)); }
  void Fail(absl::Status status) { answers_.push_back(std::move(status)); }

  // The next answer; the last one again and again; an empty one if none was laid ready.
  absl::StatusOr<Response> operator()(const Request& request) {
    requests.push_back(request);
    if (answers_.empty()) return Response();
    absl::StatusOr<Response> answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    return answer;
  }

  std::vector<Request> requests;

 private:
  std::deque<absl::StatusOr<Response>> answers_;
};

class FakeAdminClient final : public AdminClient {
 public:
  // What one WatchRun shows, and how it ends.
  struct Watch {
    std::vector<v1::Run> runs;
    absl::Status end;
  };

  const std::string& address() const override { return address_; }

  absl::StatusOr<v1::ListHostsResponse> ListHosts(const v1::ListHostsRequest& r) override {
    return list_hosts(r);
  }
  absl::StatusOr<v1::DrainHostResponse> DrainHost(const v1::DrainHostRequest& r) override {
    return drain_host(r);
  }
  absl::StatusOr<v1::ResumeHostResponse> ResumeHost(const v1::ResumeHostRequest& r) override {
    return resume_host(r);
  }
  absl::StatusOr<v1::ForgetHostResponse> ForgetHost(const v1::ForgetHostRequest& r) override {
    return forget_host(r);
  }
  absl::StatusOr<v1::CreateJoinTokenResponse> CreateJoinToken(
      const v1::CreateJoinTokenRequest& r) override {
    return create_join_token(r);
  }
  absl::StatusOr<v1::CreateUserResponse> CreateUser(const v1::CreateUserRequest& r) override {
    return create_user(r);
  }
  absl::StatusOr<v1::ListUsersResponse> ListUsers(const v1::ListUsersRequest& r) override {
    return list_users(r);
  }
  absl::StatusOr<v1::RemoveUserResponse> RemoveUser(const v1::RemoveUserRequest& r) override {
    return remove_user(r);
  }
  absl::StatusOr<v1::CreateSignInResponse> CreateSignIn(const v1::CreateSignInRequest& r) override {
    return create_sign_in(r);
  }
  absl::StatusOr<v1::ApplyPoliciesResponse> ApplyPolicies(
      const v1::ApplyPoliciesRequest& r) override {
    return apply_policies(r);
  }
  absl::StatusOr<v1::ListPoliciesResponse> ListPolicies(const v1::ListPoliciesRequest& r) override {
    return list_policies(r);
  }
  absl::StatusOr<v1::DeletePolicyResponse> DeletePolicy(const v1::DeletePolicyRequest& r) override {
    return delete_policy(r);
  }
  absl::StatusOr<v1::StartRunsResponse> StartRuns(const v1::StartRunsRequest& r) override {
    return start_runs(r);
  }
  absl::StatusOr<v1::CancelRunResponse> CancelRun(const v1::CancelRunRequest& r) override {
    return cancel_run(r);
  }
  absl::StatusOr<v1::PauseRunResponse> PauseRun(const v1::PauseRunRequest& r) override {
    return pause_run(r);
  }
  absl::StatusOr<v1::ResumeRunResponse> ResumeRun(const v1::ResumeRunRequest& r) override {
    return resume_run(r);
  }
  absl::StatusOr<v1::ListRunsResponse> ListRuns(const v1::ListRunsRequest& r) override {
    return list_runs(r);
  }
  absl::Status WatchRun(const v1::WatchRunRequest& request, absl::Duration /*deadline*/,
                        const std::function<void(const v1::Run&)>& on_change) override {
    watched.push_back(request.run_id());
    if (watches.empty()) return absl::OkStatus();
    const Watch watch = watches.front();
    if (watches.size() > 1) watches.pop_front();
    for (const v1::Run& run : watch.runs) on_change(run);
    return watch.end;
  }

  FakeCall<v1::ListHostsRequest, v1::ListHostsResponse> list_hosts;
  FakeCall<v1::DrainHostRequest, v1::DrainHostResponse> drain_host;
  FakeCall<v1::ResumeHostRequest, v1::ResumeHostResponse> resume_host;
  FakeCall<v1::ForgetHostRequest, v1::ForgetHostResponse> forget_host;
  FakeCall<v1::CreateJoinTokenRequest, v1::CreateJoinTokenResponse> create_join_token;
  FakeCall<v1::CreateUserRequest, v1::CreateUserResponse> create_user;
  FakeCall<v1::CreateSignInRequest, v1::CreateSignInResponse> create_sign_in;
  FakeCall<v1::ListUsersRequest, v1::ListUsersResponse> list_users;
  FakeCall<v1::RemoveUserRequest, v1::RemoveUserResponse> remove_user;
  FakeCall<v1::ApplyPoliciesRequest, v1::ApplyPoliciesResponse> apply_policies;
  FakeCall<v1::ListPoliciesRequest, v1::ListPoliciesResponse> list_policies;
  FakeCall<v1::DeletePolicyRequest, v1::DeletePolicyResponse> delete_policy;
  FakeCall<v1::StartRunsRequest, v1::StartRunsResponse> start_runs;
  FakeCall<v1::CancelRunRequest, v1::CancelRunResponse> cancel_run;
  FakeCall<v1::PauseRunRequest, v1::PauseRunResponse> pause_run;
  FakeCall<v1::ResumeRunRequest, v1::ResumeRunResponse> resume_run;
  FakeCall<v1::ListRunsRequest, v1::ListRunsResponse> list_runs;
  std::deque<Watch> watches;
  std::vector<std::string> watched;

 private:
  std::string address_ = "nas1:7171";
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_TESTING_FAKE_ADMIN_CLIENT_H_
