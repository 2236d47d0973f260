#include "coordinator/identity/roster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/identity/identity_keys.h"
#include "coordinator/identity/load_records.h"
#include "coordinator/row_batch.h"

namespace onefold::identity {
namespace {

// Clocks of a fleet differ.
constexpr absl::Duration kSlack = absl::Hours(48);

IdentityOffice::Person ToPerson(const std::string& name, const storage::v1::UserRecord& record) {
  return {.name = name,
          .role = ParseRole(record.role()),
          .certificate_expire_time =
              absl::FromUnixMillis(record.certificate_expire_time_unix_millis())};
}

storage::v1::RevocationRecord RevocationUntil(absl::Time forget_time) {
  storage::v1::RevocationRecord record;
  record.set_forget_time_unix_millis(absl::ToUnixMillis(forget_time));
  return record;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Roster>> Roster::Open(index::OrderedStore& state,
                                                     absl::Duration lifetime_max) {
  std::unique_ptr<Roster> roster(new Roster(state, lifetime_max));
  RETURN_IF_ERROR(roster->Load(), "identities");
  return roster;
}

absl::Status Roster::Load() {
  RETURN_IF_ERROR(LoadRecords(state_, kHostRowPrefix, hosts_));
  RETURN_IF_ERROR(LoadRecords(state_, kUserRowPrefix, users_));
  return LoadRecords(state_, kRevocationPrefix, revoked_);
}

absl::Status Roster::PutHost(absl::string_view id, absl::string_view display_name,
                             const Certificate& certificate) {
  if (IsHostRevoked(id)) return absl::PermissionDeniedError("the host was forgotten");
  if (hosts_.size() >= kHostsMax && hosts_.find(id) == hosts_.end()) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", kHostsMax, " hosts already"));
  }
  storage::v1::HostIdentityRecord record;
  record.set_display_name(std::string(display_name));
  record.set_certificate_expire_time_unix_millis(absl::ToUnixMillis(certificate.not_after()));
  index::RowBatch batch;
  batch.Put(HostKey(id), record.SerializeAsString());
  RETURN_IF_ERROR(state_.Write(batch));
  hosts_[std::string(id)] = std::move(record);
  return absl::OkStatus();
}

absl::Status Roster::RenewHost(absl::string_view id, const Certificate& certificate) {
  const auto found = hosts_.find(id);
  const std::string name = found == hosts_.end() ? "" : found->second.display_name();
  return PutHost(id, name, certificate);
}

absl::Status Roster::RevokeHost(absl::string_view id, absl::Time now) {
  const std::string subject = HostSubject(id);
  if (!IsHostRevoked(id)) RETURN_IF_ERROR(CheckRoomForRevocation());
  storage::v1::RevocationRecord record = RevocationUntil(now + lifetime_max_ + kSlack);
  index::RowBatch batch;
  batch.Put(RevocationKey(subject), record.SerializeAsString());
  batch.Delete(HostKey(id));
  RETURN_IF_ERROR(state_.Write(batch));
  revoked_[subject] = std::move(record);
  hosts_.erase(std::string(id));
  return absl::OkStatus();
}

std::vector<IdentityOffice::JoinedHost> Roster::Hosts() const {
  std::vector<IdentityOffice::JoinedHost> hosts;
  hosts.reserve(hosts_.size());
  for (const auto& [id, record] : hosts_) {
    hosts.push_back({.host_id = id,
                     .display_name = record.display_name(),
                     .certificate_expire_time =
                         absl::FromUnixMillis(record.certificate_expire_time_unix_millis())});
  }
  return hosts;
}

std::optional<absl::Time> Roster::HostCertificateExpiry(absl::string_view id) const {
  const auto found = hosts_.find(id);
  if (found == hosts_.end()) return std::nullopt;
  return absl::FromUnixMillis(found->second.certificate_expire_time_unix_millis());
}

absl::Status Roster::PutUser(absl::string_view name, Role role, const Certificate& certificate,
                             absl::Time now) {
  index::RowBatch batch;
  const auto found = users_.find(name);
  const bool replaces = found != users_.end();
  if (!replaces && users_.size() >= kUsersMax) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", kUsersMax, " people already"));
  }
  std::string replaced;
  const storage::v1::RevocationRecord revocation = RevocationUntil(now + lifetime_max_ + kSlack);
  if (replaces) {
    RETURN_IF_ERROR(CheckRoomForRevocation());
    replaced = SerialSubject(found->second.serial());
    batch.Put(RevocationKey(replaced), revocation.SerializeAsString());
  }
  storage::v1::UserRecord record;
  record.set_serial(certificate.serial());
  record.set_role(std::string(ToString(role)));
  record.set_certificate_expire_time_unix_millis(absl::ToUnixMillis(certificate.not_after()));
  batch.Put(UserKey(name), record.SerializeAsString());
  RETURN_IF_ERROR(state_.Write(batch));
  if (replaces) revoked_[replaced] = revocation;
  users_[std::string(name)] = std::move(record);
  return absl::OkStatus();
}

absl::StatusOr<IdentityOffice::Person> Roster::RevokeUser(absl::string_view name, absl::Time now) {
  const auto found = users_.find(name);
  if (found == users_.end()) return absl::NotFoundError("there is nobody of this name");
  IdentityOffice::Person person = ToPerson(found->first, found->second);
  RETURN_IF_ERROR(CheckRoomForRevocation());
  const std::string subject = SerialSubject(found->second.serial());
  storage::v1::RevocationRecord record = RevocationUntil(now + lifetime_max_ + kSlack);
  index::RowBatch batch;
  batch.Put(RevocationKey(subject), record.SerializeAsString());
  batch.Delete(UserKey(name));
  RETURN_IF_ERROR(state_.Write(batch));
  revoked_[subject] = std::move(record);
  users_.erase(found);
  return person;
}

std::vector<IdentityOffice::Person> Roster::People() const {
  std::vector<IdentityOffice::Person> people;
  people.reserve(users_.size());
  for (const auto& [name, record] : users_) people.push_back(ToPerson(name, record));
  return people;
}

const storage::v1::UserRecord* Roster::FindUser(absl::string_view name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
}

bool Roster::IsHostRevoked(absl::string_view id) const {
  return revoked_.find(HostSubject(id)) != revoked_.end();
}

std::set<std::string> Roster::RevokedSubjects() const {
  std::set<std::string> subjects;
  for (const auto& [subject, record] : revoked_) subjects.insert(subjects.end(), subject);
  return subjects;
}

absl::Status Roster::DropExpired(absl::Time now) {
  const int64_t now_millis = absl::ToUnixMillis(now);
  index::RowBatch batch;
  for (const auto& [subject, record] : revoked_) {
    if (record.forget_time_unix_millis() <= now_millis) batch.Delete(RevocationKey(subject));
  }
  if (batch.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(state_.Write(batch));
  std::erase_if(revoked_, [now_millis](const auto& entry) {
    return entry.second.forget_time_unix_millis() <= now_millis;
  });
  return absl::OkStatus();
}

absl::Status Roster::CheckRoomForRevocation() const {
  if (revoked_.size() < kRevocationsMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "there are ", kRevocationsMax, " revocations already: change the fleet's authority instead"));
}

bool IsRevoked(const std::set<std::string>& revoked_subjects, const Caller& caller,
               absl::string_view serial) {
  if (revoked_subjects.empty()) return false;
  const bool is_host = caller.kind == Caller::Kind::kHost;
  return (is_host && revoked_subjects.count(HostSubject(caller.id)) != 0) ||
         (!serial.empty() && revoked_subjects.count(SerialSubject(serial)) != 0);
}

}  // namespace onefold::identity
