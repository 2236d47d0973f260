// Making certificates. Pure: keys and `now` come in, a certificate comes out.
//
//   authority    CN = name of the fleet             may sign, nothing else
//   server       CN = onefold-coordinator           TLS server; SAN: kServerName and where it is
//   found host         CN = host:<id>                     TLS client user         CN = user:<name>,
//   OU = role        TLS client
//
// All begin a day before `now`: clocks of a fleet differ.

#ifndef ONEFOLD_COMMON_IDENTITY_SIGNING_H_
#define ONEFOLD_COMMON_IDENTITY_SIGNING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/identity/certificate.h"
#include "common/identity/certificate_request.h"
#include "common/identity/private_key.h"

namespace onefold::identity {

// The name under which everybody knows a coordinator of their fleet, whatever address they dial.
// The authority signs it for nobody else, so it says more than a host name does.
inline constexpr char kServerName[] = "onefold-coordinator";

inline constexpr char kHostPrefix[] = "host:";
inline constexpr char kUserPrefix[] = "user:";

// A key and its certificate.
struct KeyAndCertificate {
  PrivateKey key;
  Certificate certificate;
};

// A new self-signed authority.
absl::StatusOr<KeyAndCertificate> MakeAuthority(absl::string_view name, absl::Duration lifetime,
                                                absl::Time now);

// The certificate of `next` once more, signed by `authority`: whoever trusts only the older one
// trusts what the newer one signs through it. It ends with the one that signs.
absl::StatusOr<Certificate> CrossSign(const KeyAndCertificate& authority, const Certificate& next,
                                      absl::Time now);

// kServerName and those of `names` that are DNS names or IP addresses, each once, in one spelling:
// what MakeServerCertificate makes of them.
std::vector<std::string> ServerNames(const std::vector<std::string>& names);

// The lifetime is cut to that of the authority. `names`: see ServerNames.
absl::StatusOr<KeyAndCertificate> MakeServerCertificate(const KeyAndCertificate& authority,
                                                        const std::vector<std::string>& names,
                                                        absl::Duration lifetime, absl::Time now);

absl::StatusOr<Certificate> SignHost(const KeyAndCertificate& authority,
                                     const CertificateRequest& request, absl::string_view host_id,
                                     absl::Duration lifetime, absl::Time now);

absl::StatusOr<Certificate> SignUser(const KeyAndCertificate& authority,
                                     const CertificateRequest& request, absl::string_view name,
                                     absl::string_view role, absl::Duration lifetime,
                                     absl::Time now);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_SIGNING_H_
