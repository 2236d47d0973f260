#include "worker/identity/certificate_keeper.h"

#include <algorithm>

#include "common/identity/certificate_request.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// However far away the end is: the clock may be set, and files replaced by hand.
constexpr absl::Duration kLookAgain = absl::Hours(24);

absl::Time RenewalTime(const HostIdentity& host) {
  return host.not_before + (host.not_after - host.not_before) * CertificateKeeper::kRenewalShare;
}

}  // namespace

absl::StatusOr<CertificateKeeper::Outcome> CertificateKeeper::RenewIfDue(absl::Time now) {
  if (now < due_ && due_ - now <= kLookAgain) return Outcome::kNotDue;
  due_ = now + kRetryDelay;
  ASSIGN_OR_RETURN(const HostIdentity host, LoadHostIdentity(directory_));
  if (now < RenewalTime(host)) {
    due_ = std::min(RenewalTime(host), now + kLookAgain);
    return Outcome::kNotDue;
  }
  RETURN_IF_ERROR(RenewNow(), "renewing the certificate of this host");
  return Outcome::kRenewed;
}

absl::Status CertificateKeeper::RenewNow() {
  ASSIGN_OR_RETURN(const identity::PrivateKey key, identity::PrivateKey::Generate());
  ASSIGN_OR_RETURN(const std::string request, identity::MakeCertificateRequest(key));
  ASSIGN_OR_RETURN(const HostCertificate certificate, renew_(request));
  return SaveHostIdentity(directory_, key, certificate);
}

}  // namespace onefold
