// Roster: hosts that have joined, people, and certificates that are refused although their time is
// not over.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_ROSTER_H_
#define ONEFOLD_COORDINATOR_IDENTITY_ROSTER_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/identity/certificate.h"
#include "coordinator/identity/caller.h"
#include "coordinator/identity/identity_office.h"
#include "coordinator/ordered_store.h"
#include "onefold/storage/v1/identity.pb.h"

namespace onefold::identity {

// Not thread-safe; Identity keeps one behind its mutex. What a call promises is durable when it
// returns OK; otherwise nothing was changed.
class Roster {
 public:
  static constexpr size_t kHostsMax = 100'000;
  static constexpr size_t kUsersMax = 1000;
  static constexpr size_t kRevocationsMax = 100'000;

  // `state` must outlive the roster. `lifetime_max`: no certificate that is revoked was made to
  // last longer than that.
  static absl::StatusOr<std::unique_ptr<Roster>> Open(index::OrderedStore& state,
                                                      absl::Duration lifetime_max);

  // Remembers a host with its newest certificate. PERMISSION_DENIED: it is revoked.
  absl::Status PutHost(absl::string_view id, absl::string_view display_name,
                       const Certificate& certificate);
  // As PutHost, for a host that keeps its name.
  absl::Status RenewHost(absl::string_view id, const Certificate& certificate);
  // Revokes the host and forgets it.
  absl::Status RevokeHost(absl::string_view id, absl::Time now);
  std::vector<IdentityOffice::JoinedHost> Hosts() const;
  std::optional<absl::Time> HostCertificateExpiry(absl::string_view id) const;

  // Remembers a person; their earlier certificate is revoked.
  absl::Status PutUser(absl::string_view name, Role role, const Certificate& certificate,
                       absl::Time now);
  // Returns who it was. NOT_FOUND: there is none.
  absl::StatusOr<IdentityOffice::Person> RevokeUser(absl::string_view name, absl::Time now);
  std::vector<IdentityOffice::Person> People() const;

  // The person's record; nullptr if there is none. Until the next call that changes something.
  const storage::v1::UserRecord* FindUser(absl::string_view name) const;

  bool IsHostRevoked(absl::string_view id) const;
  // "host:…" and "serial:…": see identity_keys.h.
  std::set<std::string> RevokedSubjects() const;

  // Drops revocations of certificates that have ended by themselves.
  absl::Status DropExpired(absl::Time now);

 private:
  Roster(index::OrderedStore& state, absl::Duration lifetime_max)
      : state_(state), lifetime_max_(lifetime_max) {}
  absl::Status Load();
  absl::Status CheckRoomForRevocation() const;

  index::OrderedStore& state_;
  const absl::Duration lifetime_max_;
  // What is in the store, by what follows the prefix of the key.
  std::map<std::string, storage::v1::HostIdentityRecord, std::less<>> hosts_;
  std::map<std::string, storage::v1::UserRecord, std::less<>> users_;
  std::map<std::string, storage::v1::RevocationRecord, std::less<>> revoked_;
};

// Whether a caller with a certificate of this serial number (empty: without one) is among them.
bool IsRevoked(const std::set<std::string>& revoked_subjects, const Caller& caller,
               absl::string_view serial);

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_ROSTER_H_
