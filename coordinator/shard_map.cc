#include "coordinator/shard_map.h"

#include <xxhash.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace onefold {
namespace {

// Part of the protocol between coordinators: all versions must agree. Frozen by shard_map_test.
uint64_t Score(const std::string& address, const VolumeUuid& volume) {
  const std::string text = absl::StrCat(address, "\n", ToBytes(volume));
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

ShardMap::ShardMap(std::vector<std::string> addresses, size_t own_index)
    : addresses_(std::move(addresses)), own_index_(own_index) {
  CHECK(addresses_.empty() || own_index_ < addresses_.size());
}

size_t ShardMap::IndexFor(const VolumeUuid& volume) const {
  size_t best = 0;
  uint64_t best_score = 0;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const uint64_t score = Score(addresses_[i], volume);
    // Equal scores are as good as impossible; even then all must agree.
    const bool better =
        score > best_score || (score == best_score && addresses_[i] < addresses_[best]);
    if (i > 0 && !better) continue;
    best = i;
    best_score = score;
  }
  return best;
}

bool ShardMap::IsOwn(const VolumeUuid& volume) const {
  return addresses_.empty() || IndexFor(volume) == own_index_;
}

std::string ShardMap::AddressFor(const VolumeUuid& volume) const {
  return IsOwn(volume) ? "" : addresses_[IndexFor(volume)];
}

absl::Status ShardMap::CheckOwn(const VolumeUuid& volume) const {
  if (IsOwn(volume)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("volume ", ToString(volume),
                                                    " belongs to the coordinator at ",
                                                    AddressFor(volume), "; GetAssignment tells"));
}

}  // namespace onefold
