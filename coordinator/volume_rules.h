// What a coordinator allows volumes, as its configuration says.

#ifndef ONEFOLD_COORDINATOR_VOLUME_RULES_H_
#define ONEFOLD_COORDINATOR_VOLUME_RULES_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/uuid.h"
#include "coordinator/shard_map.h"

namespace onefold {

struct VolumeRules {
  ShardMap shards;
  // Extents of one volume in the index. A little more may come in: it is checked between batches.
  int64_t extents_max = std::numeric_limits<int64_t>::max();

  // RESOURCE_EXHAUSTED: the volume has more than it may.
  absl::Status CheckQuota(const VolumeUuid& volume, int64_t extent_count) const {
    if (extent_count <= extents_max) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("volume ", ToString(volume), " has reached its quota of ", extents_max,
                     " extents in the index (volume_quota_extents)"));
  }
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_VOLUME_RULES_H_
