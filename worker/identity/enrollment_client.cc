#include "worker/identity/enrollment_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>

#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "onefold/v1/enrollment_service.grpc.pb.h"

namespace onefold {
namespace {

void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
}

}  // namespace

absl::StatusOr<JoinAnswer> Join(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& secret_text,
                                const std::string& certificate_request_pem,
                                const std::string& display_name, absl::Duration timeout) {
  grpc::ClientContext context;
  SetDeadline(context, timeout);
  v1::JoinRequest request;
  request.set_token(secret_text);
  request.set_certificate_request_pem(certificate_request_pem);
  request.set_display_name(display_name);
  v1::JoinResponse response;
  RETURN_IF_ERROR(
      FromGrpcStatus(v1::EnrollmentService::NewStub(channel)->Join(&context, request, &response)));
  return JoinAnswer{.host_id = response.host_id(),
                    .certificate = {.certificate_pem = response.certificate_pem(),
                                    .authority_pem = response.authority_pem()}};
}

absl::StatusOr<HostCertificate> RenewCertificate(const std::shared_ptr<grpc::Channel>& channel,
                                                 const std::string& certificate_request_pem,
                                                 absl::Duration timeout) {
  grpc::ClientContext context;
  SetDeadline(context, timeout);
  v1::RenewCertificateRequest request;
  request.set_certificate_request_pem(certificate_request_pem);
  v1::RenewCertificateResponse response;
  RETURN_IF_ERROR(FromGrpcStatus(
      v1::EnrollmentService::NewStub(channel)->RenewCertificate(&context, request, &response)));
  return HostCertificate{.certificate_pem = response.certificate_pem(),
                         .authority_pem = response.authority_pem()};
}

}  // namespace onefold
