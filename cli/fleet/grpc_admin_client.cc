#include "cli/fleet/grpc_admin_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <chrono>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/grpc_credentials.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "onefold/v1/admin_service.grpc.pb.h"

namespace onefold {
namespace {

// A page of 1000 hosts with their volumes, or of runs with their problems.
constexpr int kResponseBytesMax = 64 * 1024 * 1024;

// gRPC's own words for what went wrong on the way, in words of people who run it.
absl::Status Clarified(const absl::Status& status, bool plain_text) {
  absl::string_view message = status.message();
  // A coordinator that is being stopped cancels what is under way; nobody here does.
  if (absl::IsCancelled(status)) return absl::UnavailableError("it is being stopped");
  if (!absl::IsUnavailable(status)) return status;
  const size_t reason = message.rfind("last error: ");
  if (reason != absl::string_view::npos) message = message.substr(reason);
  absl::ConsumePrefix(&message, "last error: ");
  absl::ConsumePrefix(&message, "UNKNOWN: ");
  absl::ConsumePrefix(&message, "UNAVAILABLE: ");
  if (absl::StrContains(message, "certificate") || absl::StrContains(message, "CERTIFICATE")) {
    return absl::UnauthenticatedError(message);
  }
  const bool hung_up = absl::StrContains(message, "Socket closed") ||
                       absl::StrContains(message, "recvmsg") ||
                       absl::StrContains(message, "Broken pipe");
  if (plain_text && hung_up) {
    return absl::UnavailableError(
        absl::StrCat(message, "; if it wants TLS, a certificate is needed (--identity FILE)"));
  }
  if (!plain_text && absl::StrContains(message, "WRONG_VERSION_NUMBER")) {
    return absl::UnavailableError("it speaks no TLS (--insecure speaks plain text)");
  }
  return absl::UnavailableError(message);
}

class GrpcAdminClient final : public AdminClient {
 public:
  GrpcAdminClient(std::string address, bool plain_text, std::shared_ptr<grpc::Channel> channel)
      : address_(std::move(address)),
        plain_text_(plain_text),
        stub_(v1::AdminService::NewStub(std::move(channel))) {}

  const std::string& address() const override { return address_; }

  absl::StatusOr<v1::ListHostsResponse> ListHosts(const v1::ListHostsRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ListHosts, request);
  }
  absl::StatusOr<v1::DrainHostResponse> DrainHost(const v1::DrainHostRequest& request) override {
    return Call(&v1::AdminService::StubInterface::DrainHost, request);
  }
  absl::StatusOr<v1::ResumeHostResponse> ResumeHost(const v1::ResumeHostRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ResumeHost, request);
  }
  absl::StatusOr<v1::ForgetHostResponse> ForgetHost(const v1::ForgetHostRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ForgetHost, request);
  }
  absl::StatusOr<v1::CreateJoinTokenResponse> CreateJoinToken(
      const v1::CreateJoinTokenRequest& request) override {
    return Call(&v1::AdminService::StubInterface::CreateJoinToken, request);
  }
  absl::StatusOr<v1::CreateUserResponse> CreateUser(const v1::CreateUserRequest& request) override {
    return Call(&v1::AdminService::StubInterface::CreateUser, request);
  }
  absl::StatusOr<v1::ListUsersResponse> ListUsers(const v1::ListUsersRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ListUsers, request);
  }
  absl::StatusOr<v1::RemoveUserResponse> RemoveUser(const v1::RemoveUserRequest& request) override {
    return Call(&v1::AdminService::StubInterface::RemoveUser, request);
  }
  absl::StatusOr<v1::CreateSignInResponse> CreateSignIn(
      const v1::CreateSignInRequest& request) override {
    return Call(&v1::AdminService::StubInterface::CreateSignIn, request);
  }
  absl::StatusOr<v1::ApplyPoliciesResponse> ApplyPolicies(
      const v1::ApplyPoliciesRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ApplyPolicies, request);
  }
  absl::StatusOr<v1::ListPoliciesResponse> ListPolicies(
      const v1::ListPoliciesRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ListPolicies, request);
  }
  absl::StatusOr<v1::DeletePolicyResponse> DeletePolicy(
      const v1::DeletePolicyRequest& request) override {
    return Call(&v1::AdminService::StubInterface::DeletePolicy, request);
  }
  absl::StatusOr<v1::StartRunsResponse> StartRuns(const v1::StartRunsRequest& request) override {
    return Call(&v1::AdminService::StubInterface::StartRuns, request);
  }
  absl::StatusOr<v1::CancelRunResponse> CancelRun(const v1::CancelRunRequest& request) override {
    return Call(&v1::AdminService::StubInterface::CancelRun, request);
  }
  absl::StatusOr<v1::PauseRunResponse> PauseRun(const v1::PauseRunRequest& request) override {
    return Call(&v1::AdminService::StubInterface::PauseRun, request);
  }
  absl::StatusOr<v1::ResumeRunResponse> ResumeRun(const v1::ResumeRunRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ResumeRun, request);
  }
  absl::StatusOr<v1::ListRunsResponse> ListRuns(const v1::ListRunsRequest& request) override {
    return Call(&v1::AdminService::StubInterface::ListRuns, request);
  }

  absl::Status WatchRun(const v1::WatchRunRequest& request, absl::Duration deadline,
                        const std::function<void(const v1::Run&)>& on_change) override {
    grpc::ClientContext context;
    SetDeadline(context, deadline);
    const auto reader = stub_->WatchRun(&context, request);
    v1::WatchRunResponse response;
    while (reader->Read(&response)) on_change(response.run());
    return Clarified(FromGrpcStatus(reader->Finish()), plain_text_);
  }

 private:
  static void SetDeadline(grpc::ClientContext& context, absl::Duration deadline) {
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(deadline));
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (v1::AdminService::StubInterface::*method)(
                                    grpc::ClientContext*, const Request&, Response*),
                                const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context, kAdminCallDeadline);
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) return Clarified(FromGrpcStatus(status), plain_text_);
    return response;
  }

  const std::string address_;
  const bool plain_text_;
  const std::unique_ptr<v1::AdminService::StubInterface> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> NewGrpcAdminClient(const Connection& connection,
                                                                bool insecure) {
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (connection.identity.has_value()) {
    const UserBundle& identity = *connection.identity;
    credentials = PersonChannelCredentials(identity.key_pem, identity.certificate_pem,
                                           identity.authority_pem);
  } else {
    ASSIGN_OR_RETURN(credentials, PlainChannelCredentials(connection.address.text, insecure));
  }
  grpc::ChannelArguments arguments = FleetChannelArguments();
  arguments.SetMaxReceiveMessageSize(kResponseBytesMax);
  // A coordinator is reached directly: proxies of the environment are for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return std::unique_ptr<AdminClient>(std::make_unique<GrpcAdminClient>(
      connection.address.text, !connection.identity.has_value(),
      grpc::CreateCustomChannel(connection.address.target, credentials, arguments)));
}

}  // namespace onefold
