// CertificateKeeper: has the host's certificate renewed long before it ends.

#ifndef ONEFOLD_WORKER_IDENTITY_CERTIFICATE_KEEPER_H_
#define ONEFOLD_WORKER_IDENTITY_CERTIFICATE_KEEPER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/identity/host_identity.h"

namespace onefold {

// Not thread-safe.
class CertificateKeeper {
 public:
  // Asks the coordinator for a certificate; `request_pem` is PKCS#10. Over a channel that shows the
  // certificate there is now.
  using Renew = std::function<absl::StatusOr<HostCertificate>(const std::string& request_pem)>;

  // A certificate is renewed when half of its time is over, so that a host may be off for the other
  // half.
  static constexpr double kRenewalShare = 0.5;
  // After a failure.
  static constexpr absl::Duration kRetryDelay = absl::Hours(1);

  enum class Outcome { kNotDue, kRenewed };

  // `directory`: see host_identity.h.
  CertificateKeeper(std::string directory, Renew renew)
      : directory_(std::move(directory)), renew_(std::move(renew)) {}

  // Renews the certificate if that is due. Cheap if it is not: call it with every Sync, after it
  // succeeded. Channels made by FleetChannelCredentials notice the new files by themselves.
  //
  // Errors are for the log; the next call tries again after kRetryDelay. UNAUTHENTICATED: the host
  // was forgotten. FAILED_PRECONDITION: the files are damaged, or the answer was not what it should
  // be.
  absl::StatusOr<Outcome> RenewIfDue(absl::Time now);

 private:
  absl::Status RenewNow();

  const std::string directory_;
  const Renew renew_;
  absl::Time due_ = absl::InfinitePast();  // when the files are looked at again
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_IDENTITY_CERTIFICATE_KEEPER_H_
