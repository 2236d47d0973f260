// AdminService: turns people's calls into calls of Fleet and IdentityOffice; decides nothing
// itself. Who may call what was decided before (coordinator/identity/grpc_door.h). Who changed what
// is logged.

#ifndef ONEFOLD_COORDINATOR_FLEET_ADMIN_SERVICE_H_
#define ONEFOLD_COORDINATOR_FLEET_ADMIN_SERVICE_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/log.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/identity/identity_office.h"
#include "onefold/v1/admin_service.grpc.pb.h"

namespace onefold {

// Thread-safe.
class AdminService final : public v1::AdminService::Service {
 public:
  struct Options {
    std::string public_address;  // "host:port" that hosts are told to join at; may be empty
    // Whether hosts can join here: somebody serves them who lets them in.
    bool hosts_join = true;
    // Where the web page is ("https://nas1.example:7180"); empty where none is served.
    std::function<std::string()> page_address = [] { return std::string(); };
  };

  // All must outlive the service. `identity`: null where nobody has a certificate (one process, or
  // plain text); tokens and users are refused then. `log` may be null.
  AdminService(Options options, Clock& clock, Fleet& fleet, IdentityOffice* identity,
               Log* log = nullptr)
      : options_(std::move(options)),
        clock_(clock),
        fleet_(fleet),
        identity_(identity),
        log_(log) {}

  grpc::Status ListHosts(grpc::ServerContext* context, const v1::ListHostsRequest* request,
                         v1::ListHostsResponse* response) override;
  grpc::Status DrainHost(grpc::ServerContext* context, const v1::DrainHostRequest* request,
                         v1::DrainHostResponse* response) override;
  grpc::Status ResumeHost(grpc::ServerContext* context, const v1::ResumeHostRequest* request,
                          v1::ResumeHostResponse* response) override;
  grpc::Status ForgetHost(grpc::ServerContext* context, const v1::ForgetHostRequest* request,
                          v1::ForgetHostResponse* response) override;
  grpc::Status CreateJoinToken(grpc::ServerContext* context,
                               const v1::CreateJoinTokenRequest* request,
                               v1::CreateJoinTokenResponse* response) override;
  grpc::Status CreateUser(grpc::ServerContext* context, const v1::CreateUserRequest* request,
                          v1::CreateUserResponse* response) override;
  grpc::Status CreateSignIn(grpc::ServerContext* context, const v1::CreateSignInRequest* request,
                            v1::CreateSignInResponse* response) override;
  grpc::Status ListUsers(grpc::ServerContext* context, const v1::ListUsersRequest* request,
                         v1::ListUsersResponse* response) override;
  grpc::Status RemoveUser(grpc::ServerContext* context, const v1::RemoveUserRequest* request,
                          v1::RemoveUserResponse* response) override;
  grpc::Status ApplyPolicies(grpc::ServerContext* context, const v1::ApplyPoliciesRequest* request,
                             v1::ApplyPoliciesResponse* response) override;
  grpc::Status ListPolicies(grpc::ServerContext* context, const v1::ListPoliciesRequest* request,
                            v1::ListPoliciesResponse* response) override;
  grpc::Status DeletePolicy(grpc::ServerContext* context, const v1::DeletePolicyRequest* request,
                            v1::DeletePolicyResponse* response) override;
  grpc::Status StartRuns(grpc::ServerContext* context, const v1::StartRunsRequest* request,
                         v1::StartRunsResponse* response) override;
  grpc::Status CancelRun(grpc::ServerContext* context, const v1::CancelRunRequest* request,
                         v1::CancelRunResponse* response) override;
  grpc::Status PauseRun(grpc::ServerContext* context, const v1::PauseRunRequest* request,
                        v1::PauseRunResponse* response) override;
  grpc::Status ResumeRun(grpc::ServerContext* context, const v1::ResumeRunRequest* request,
                         v1::ResumeRunResponse* response) override;
  grpc::Status ListRuns(grpc::ServerContext* context, const v1::ListRunsRequest* request,
                        v1::ListRunsResponse* response) override;
  grpc::Status WatchRun(grpc::ServerContext* context, const v1::WatchRunRequest* request,
                        grpc::ServerWriter<v1::WatchRunResponse>* writer) override;

 private:
  // Hosts that report, and those that have joined but never did, by name.
  std::vector<v1::Host> AllHosts() const;
  // The same by id or name, for hosts that never reported. NOT_FOUND, INVALID_ARGUMENT.
  absl::StatusOr<v1::Host> FindHost(const std::string& host) const;
  void FillInCertificate(v1::Host& host) const;
  absl::StatusOr<IdentityOffice*> Identity() const;
  // Logs what a caller changed, or tried to: "what by=user:ann …".
  void Note(const grpc::ServerContext& context, absl::string_view what, LogFields fields,
            const grpc::Status& status) const;

  const Options options_;
  Clock& clock_;
  Fleet& fleet_;
  IdentityOffice* const identity_;
  Log* const log_;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_FLEET_ADMIN_SERVICE_H_
