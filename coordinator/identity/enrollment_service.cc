#include "coordinator/identity/enrollment_service.h"

#include <string>

#include "absl/strings/string_view.h"
#include "common/grpc_status.h"
#include "coordinator/identity/grpc_caller.h"

namespace onefold {
namespace {

// "ipv4:192.0.2.1:4321" without the port: each connection has another one.
std::string PeerOf(const grpc::ServerContext& context) {
  const std::string peer = context.peer();
  return peer.substr(0, peer.rfind(':'));
}

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  return timestamp;
}

template <typename Response>
void FillIn(const IdentityOffice::IssuedCertificate& issued, Response* response) {
  response->set_certificate_pem(issued.certificate_pem);
  response->set_authority_pem(issued.authority_pem);
  *response->mutable_expire_time() = ToTimestamp(issued.expire_time);
}

}  // namespace

grpc::Status EnrollmentService::Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                                     v1::JoinResponse* response) {
  const auto joined = identity_.Join(request->token(), request->certificate_request_pem(),
                                     request->display_name(), PeerOf(*context), clock_.Now());
  if (!joined.ok()) {
    if (log_ != nullptr) {
      log_->Warning("a host was not let in", {{"peer", context->peer()},
                                              {"reason", std::string(joined.status().message())}});
    }
    return ToGrpcStatus(joined.status());
  }
  if (log_ != nullptr) {
    log_->Info(
        "a host has joined",
        {{"host", joined->host_id}, {"name", request->display_name()}, {"peer", context->peer()}});
  }
  response->set_host_id(joined->host_id);
  FillIn(joined->certificate, response);
  return grpc::Status::OK;
}

grpc::Status EnrollmentService::RenewCertificate(grpc::ServerContext* context,
                                                 const v1::RenewCertificateRequest* request,
                                                 v1::RenewCertificateResponse* response) {
  const absl::StatusOr<Caller> caller = CallerOf(*context);
  if (!caller.ok()) return ToGrpcStatus(caller.status());
  const auto issued = identity_.Renew(*caller, request->certificate_request_pem(), clock_.Now());
  if (!issued.ok()) return ToGrpcStatus(issued.status());
  if (log_ != nullptr) log_->Info("a host has renewed its certificate", {{"host", caller->id}});
  FillIn(*issued, response);
  return grpc::Status::OK;
}

}  // namespace onefold
