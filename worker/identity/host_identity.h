// What makes a worker a host of its fleet, in its state directory. All files have mode 0600.
//
//   DIR/identity.pem   private key and certificate ("host:<id>")
//   DIR/trusted.pem    certificates of the fleet's authorities
//   DIR/joining.pem    a key for which no certificate has come yet: the answer may have been lost,
//                      and a token is good again only for the same key

#ifndef ONEFOLD_WORKER_IDENTITY_HOST_IDENTITY_H_
#define ONEFOLD_WORKER_IDENTITY_HOST_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/identity/private_key.h"

namespace onefold {

struct HostIdentity {
  std::string host_id;
  absl::Time not_before;
  absl::Time not_after;
};

// From the coordinator: a certificate for our key, and whom to trust.
struct HostCertificate {
  std::string certificate_pem;
  std::string authority_pem;
};

std::string IdentityFile(const std::string& directory);
std::string TrustedFile(const std::string& directory);

// NOT_FOUND            the host has not joined.
// FAILED_PRECONDITION  the files are damaged, or others may read them; the message says what to do.
absl::StatusOr<HostIdentity> LoadHostIdentity(const std::string& directory);

// Makes the directory (0700) and the files. Durable; whatever interrupts it, the files that are
// there belong together.
//
// FAILED_PRECONDITION  what the coordinator sent is not a certificate of a host for this key by one
//                      of these authorities; nothing was changed.
// RESOURCE_EXHAUSTED   disk full.
absl::Status SaveHostIdentity(const std::string& directory, const identity::PrivateKey& key,
                              const HostCertificate& certificate);

// The key of a join that has not ended, or a new one; durable in either case.
absl::StatusOr<identity::PrivateKey> KeyForJoining(const std::string& directory);
// Whether there is such a key.
bool IsJoining(const std::string& directory);
// That join has ended.
absl::Status ForgetKeyForJoining(const std::string& directory);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_IDENTITY_HOST_IDENTITY_H_
