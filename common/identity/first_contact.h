// The first TLS contact of a host that knows nothing but the fingerprint of a fleet's authority.

#ifndef ONEFOLD_COMMON_IDENTITY_FIRST_CONTACT_H_
#define ONEFOLD_COMMON_IDENTITY_FIRST_CONTACT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/identity/certificate.h"
#include "common/identity/network_address.h"

namespace onefold::identity {

// The certificates that the server at `address` shows. Nothing about them is checked, and nothing
// is sent to it: whoever calls this looks for the one certificate it can recognise, and dials again
// trusting only that.
//
// UNAVAILABLE        no connection, or no TLS at the other end; the message says which.
// DEADLINE_EXCEEDED  not within `timeout`.
absl::StatusOr<std::vector<Certificate>> FetchCertificates(const HostAndPort& address,
                                                           absl::Duration timeout);

// The authority among `shown` whose fingerprint is `fingerprint`. PERMISSION_DENIED: none is.
absl::StatusOr<Certificate> FindAuthority(const std::vector<Certificate>& shown,
                                          absl::string_view fingerprint);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_FIRST_CONTACT_H_
