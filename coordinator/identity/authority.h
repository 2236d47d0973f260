// Authority: the fleet's own certificate authority, and the coordinator's certificate.
//
// Files below the directory (0700), each 0600, replaced atomically and durably:
//
//   authority.pem   the key and certificate that sign, then what is left of earlier authorities:
//                   their certificates, and the new one signed by each of them (a bridge)
//   trusted.pem     certificates of the authorities whose signatures count: the current one first
//   server.pem      key, certificate and chain that the coordinator shows
//   token.key       see TokenBook
//
// Only authority.pem cannot be made again. trusted.pem and server.pem are for TLS credentials that
// watch files (common/grpc_credentials.h).
//
// A change of authority: the new one signs from the moment on. Who trusts only the old one still
// finds the coordinator, through the bridge, and learns of the new one with its next certificate.
// When all certificates that the old one has signed are over, it is dropped. See docs/security.md.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_AUTHORITY_H_
#define ONEFOLD_COORDINATOR_IDENTITY_AUTHORITY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/identity/certificate.h"
#include "common/identity/certificate_request.h"
#include "common/identity/signing.h"
#include "coordinator/identity/caller.h"

namespace onefold::identity {

// Not thread-safe; Identity keeps one behind its mutex.
class Authority {
 public:
  static constexpr absl::Duration kAuthorityLifetime = absl::Hours(24 * 365 * 10);
  // A NAS may be off for half of it and comes back by itself.
  static constexpr absl::Duration kClientLifetime = absl::Hours(24 * 365);
  static constexpr absl::Duration kServerLifetime = absl::Hours(24 * 90);
  // What is left of the server's certificate when a new one is made.
  static constexpr absl::Duration kServerRenewal = absl::Hours(24 * 30);
  // What is left of the authority when the next one is made: longer than any certificate.
  static constexpr absl::Duration kAuthorityRenewal = absl::Hours(24 * 365 * 2);

  // Opens the directory, or makes it, with a new authority, at the first start. `server_names`: DNS
  // names and addresses, beside this machine's loopback ones, for clients that are not ours.
  //
  // FAILED_PRECONDITION  others may read the files, or authority.pem is gone while the rest is
  //                      there: the message says what to do.
  // INVALID_ARGUMENT     authority.pem is damaged.
  // RESOURCE_EXHAUSTED   disk full.
  static absl::StatusOr<std::unique_ptr<Authority>> Open(const std::string& directory,
                                                         std::vector<std::string> server_names,
                                                         absl::Time now);

  // Does what is due: renews the server's certificate, begins a change of authority before the
  // current one ends, ends a change. Cheap when nothing is; call it every few hours at least.
  absl::Status Maintain(absl::Time now);

  // Begins a change of authority now. With `distrust` what the old ones have signed is worth
  // nothing from now on: for a stolen key. All hosts and people must then join anew.
  absl::Status Rotate(bool distrust, absl::Time now);

  absl::StatusOr<Certificate> SignHost(const CertificateRequest& request, absl::string_view host_id,
                                       absl::Time now) const;
  absl::StatusOr<Certificate> SignUser(const CertificateRequest& request, absl::string_view name,
                                       Role role, absl::Time now) const;

  // Of the one that signs: 32 raw bytes.
  const std::string& fingerprint() const { return current_.certificate.fingerprint(); }
  // What trusted.pem holds.
  std::string TrustedPem() const;

  std::string trusted_file() const { return directory_ + "/trusted.pem"; }
  std::string server_file() const { return directory_ + "/server.pem"; }

 private:
  Authority(std::string directory, std::vector<std::string> server_names, KeyAndCertificate current)
      : directory_(std::move(directory)),
        server_names_(std::move(server_names)),
        current_(std::move(current)) {}

  static absl::StatusOr<std::unique_ptr<Authority>> Read(const std::string& directory,
                                                         std::vector<std::string> server_names,
                                                         const std::string& pem);
  std::string authority_file() const { return directory_ + "/authority.pem"; }
  absl::Status WriteAuthority() const;
  absl::Status WriteTrusted() const;
  absl::StatusOr<bool> IsServerCertificateGood(absl::Time now) const;
  absl::Status RenewServerCertificate(absl::Time now) const;
  absl::Status DropEarlier(absl::Time now);

  const std::string directory_;
  const std::vector<std::string> server_names_;
  KeyAndCertificate current_;
  std::vector<Certificate> earlier_;  // the newest first
  std::vector<Certificate> bridges_;  // the current key, signed by each of `earlier_`
};

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_AUTHORITY_H_
