// The host's end of EnrollmentService.

#ifndef ONEFOLD_WORKER_IDENTITY_ENROLLMENT_CLIENT_H_
#define ONEFOLD_WORKER_IDENTITY_ENROLLMENT_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/identity/host_identity.h"

namespace grpc {
class Channel;
}

namespace onefold {

struct JoinAnswer {
  std::string host_id;
  HostCertificate certificate;
};

// Spends a token. `secret_text`: identity::SecretToText. Codes: enrollment_service.proto;
// UNAVAILABLE and DEADLINE_EXCEEDED: it may have been spent, and the same key may try again.
absl::StatusOr<JoinAnswer> Join(const std::shared_ptr<grpc::Channel>& channel,
                                const std::string& secret_text,
                                const std::string& certificate_request_pem,
                                const std::string& display_name, absl::Duration timeout);

// A new certificate for the host whose certificate the channel shows. For CertificateKeeper.
absl::StatusOr<HostCertificate> RenewCertificate(const std::shared_ptr<grpc::Channel>& channel,
                                                 const std::string& certificate_request_pem,
                                                 absl::Duration timeout);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_IDENTITY_ENROLLMENT_CLIENT_H_
