#include "worker/daemon/assignments.h"

#include <set>

namespace onefold {
namespace {

constexpr absl::Duration kAskAgain = absl::Minutes(10);
constexpr size_t kAddressBytesMax = 512;
// Coordinators of one fleet; a hostile one shall not have us open connections without end.
constexpr size_t kAddressesMax = 64;

}  // namespace

void Assignments::Refresh(const std::vector<VolumeUuid>& volumes, FleetLink& home) {
  for (const VolumeUuid& volume : volumes) {
    const absl::Duration now = clock_.Monotonic();
    {
      MutexLock lock(&mutex_);
      const auto known = entries_.find(volume);
      if (known != entries_.end() && now < known->second.asked_at + kAskAgain) continue;
    }
    absl::StatusOr<std::string> address = home.GetAssignment(volume);
    if (absl::IsUnimplemented(address.status())) address = std::string();
    if (!address.ok()) return;  // the others would fare no better
    if (address->size() > kAddressBytesMax) continue;
    const std::vector<std::string> others = addresses();
    const std::set<std::string> known(others.begin(), others.end());
    if (!address->empty() && known.count(*address) == 0 && known.size() >= kAddressesMax) continue;
    MutexLock lock(&mutex_);
    entries_[volume] = {.address = *std::move(address), .asked_at = now};
  }
}

std::optional<std::string> Assignments::Find(const VolumeUuid& volume) {
  MutexLock lock(&mutex_);
  const auto known = entries_.find(volume);
  if (known == entries_.end()) return std::nullopt;
  return known->second.address;
}

std::vector<std::string> Assignments::addresses() {
  MutexLock lock(&mutex_);
  std::set<std::string> all;
  for (const auto& [volume, entry] : entries_) {
    if (!entry.address.empty()) all.insert(entry.address);
  }
  return {all.begin(), all.end()};
}

}  // namespace onefold
