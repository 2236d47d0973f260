#include "coordinator/lease_board.h"

#include "absl/strings/str_cat.h"

namespace onefold::index {

void LeaseBoard::Restore(const VolumeUuid& volume, int64_t epoch, const std::string& worker,
                         absl::Duration now) {
  entries_[volume] = {
      .epoch = epoch, .worker = worker, .expires_at = now + options_.ttl, .restored = true};
}

std::optional<LeaseBoard::Grant> LeaseBoard::Acquire(const VolumeUuid& volume,
                                                     const std::string& worker,
                                                     absl::Duration now) {
  Entry& entry = entries_[volume];
  const bool mine = entry.worker == worker;
  if (!mine && !entry.worker.empty() && now < entry.expires_at) return std::nullopt;
  const bool renew = mine && !entry.restored;
  if (!renew) entry = {.epoch = entry.epoch + 1, .worker = worker};
  entry.expires_at = now + options_.ttl;
  return Grant{.epoch = entry.epoch, .is_new = !renew, .worked = entry.worked};
}

void LeaseBoard::Revoke(const VolumeUuid& volume, int64_t epoch) {
  Entry& entry = entries_[volume];
  if (entry.epoch == epoch) entry = {.epoch = epoch};
}

bool LeaseBoard::Release(const VolumeUuid& volume, const std::string& worker, int64_t epoch) {
  const auto found = entries_.find(volume);
  if (found == entries_.end() || found->second.epoch != epoch || found->second.worker != worker ||
      worker.empty()) {
    return false;
  }
  found->second = {.epoch = epoch};
  return true;
}

absl::Status LeaseBoard::Renew(const VolumeUuid& volume, int64_t epoch, absl::Duration now) {
  const auto found = entries_.find(volume);
  if (found == entries_.end() || found->second.epoch != epoch || found->second.worker.empty()) {
    return absl::AbortedError(absl::StrCat("the lease of volume ", ToString(volume), ", epoch ",
                                           epoch, ", is not the latest one: sync again"));
  }
  Entry& entry = found->second;
  entry.expires_at = now + options_.ttl;
  entry.restored = false;  // its holder is alive
  entry.worked = true;
  return absl::OkStatus();
}

}  // namespace onefold::index
