// IdentityOffice: what AdminService asks about identities. Real: Identity (identity.h). A
// coordinator that serves only its own process has none.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_OFFICE_H_
#define ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_OFFICE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/identity/caller.h"

namespace onefold {

// Thread-safe. What a call promises is durable when it returns.
//
// Codes of all calls: RESOURCE_EXHAUSTED the disk is full or a bound is reached, nothing was
// changed; INVALID_ARGUMENT malformed, the message says what.
class IdentityOffice {
 public:
  struct JoinToken {
    std::string text;  // what AdminService's CreateJoinTokenResponse.token carries
    absl::Time expire_time;
  };
  struct IssuedCertificate {
    std::string certificate_pem;
    std::string authority_pem;  // all authorities that are trusted now
    absl::Time expire_time;
  };
  // A host that has joined; it may never have called Sync.
  struct JoinedHost {
    std::string host_id;
    std::string display_name;  // as told when it joined; may be empty
    absl::Time certificate_expire_time;
  };

  struct Person {
    std::string name;
    Role role = Role::kNone;
    absl::Time certificate_expire_time;
  };

  virtual ~IdentityOffice() = default;

  // A token with which `host_count_max` hosts may join (0: one; at most 1000), each once. `ttl`
  // zero: one hour; at most 30 days. A repeated `request_id` (at most 64 bytes; empty: none) gives
  // the same token for as long as it is good and unused.
  virtual absl::StatusOr<JoinToken> CreateJoinToken(absl::Duration ttl,
                                                    absl::string_view request_id,
                                                    int host_count_max, absl::Time now) = 0;

  // A certificate for a person. The certificate that was made for this name before, if any, is
  // revoked: the new one replaces it.
  virtual absl::StatusOr<IssuedCertificate> CreateUser(absl::string_view name, Role role,
                                                       absl::string_view certificate_request_pem,
                                                       absl::Time now) = 0;

  struct SignIn {
    std::string token;
    absl::Time expire_time;
  };
  // A token with which the person signs in to the web page, once and soon. NOT_FOUND: there is no
  // such name.
  virtual absl::StatusOr<SignIn> CreateSignIn(absl::string_view name, absl::Time now) = 0;

  // Revokes all certificates of a person. NOT_FOUND: there is no such name.
  virtual absl::StatusOr<Person> RemoveUser(absl::string_view name, absl::Time now) = 0;

  // People who have a certificate, by name.
  virtual std::vector<Person> People() const = 0;

  // Revokes all certificates of the host, from its next call on. Idempotent; a host that never
  // joined is revoked too.
  virtual absl::Status ForgetHost(absl::string_view host_id, absl::Time now) = 0;

  // Hosts that have joined and were not forgotten, by id.
  virtual std::vector<JoinedHost> JoinedHosts() const = 0;

  // When the newest certificate of a host ends; nullopt if it never joined.
  virtual std::optional<absl::Time> HostCertificateExpiry(absl::string_view host_id) const = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_OFFICE_H_
