#include "coordinator/identity/grpc_caller.h"

#include <grpc/grpc_security_constants.h>

#include <string>
#include <vector>

#include "common/identity/certificate.h"
#include "common/status_macros.h"
#include "coordinator/identity/identity.h"

namespace onefold {

absl::StatusOr<ProvenCaller> ProvenCallerOf(const grpc::AuthContext* connection) {
  ProvenCaller local;
  local.caller = {.kind = Caller::Kind::kLocal, .id = "", .role = Role::kAdmin};
  if (connection == nullptr) return local;
  const std::vector<grpc::string_ref> security =
      connection->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  const bool is_tls = !security.empty() && (security[0] == GRPC_TLS_TRANSPORT_SECURITY_TYPE ||
                                            security[0] == GRPC_SSL_TRANSPORT_SECURITY_TYPE);
  if (!is_tls) return local;
  const std::vector<grpc::string_ref> pem =
      connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return ProvenCaller{};  // nobody
  const auto certificate =
      identity::Certificate::FromPem(absl::string_view(pem[0].data(), pem[0].size()));
  if (!certificate.ok()) return absl::UnauthenticatedError(certificate.status().message());
  ASSIGN_OR_RETURN(Caller caller, CallerOf(*certificate));
  return ProvenCaller{.caller = std::move(caller),
                      .serial = certificate->serial(),
                      .expire_time = certificate->not_after()};
}

absl::StatusOr<Caller> CallerOf(const grpc::ServerContext& context) {
  ASSIGN_OR_RETURN(ProvenCaller proven, ProvenCallerOf(context.auth_context().get()));
  return std::move(proven.caller);
}

}  // namespace onefold
