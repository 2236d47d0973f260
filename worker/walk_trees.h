// What Search answers for a volume that was walked: the items that btrfs would have. Pure functions
// of the map and the files; any thread.

#ifndef ONEFOLD_WORKER_WALK_TREES_H_
#define ONEFOLD_WORKER_WALK_TREES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "worker/volume.h"
#include "worker/walk_files.h"
#include "worker/walk_map.h"

namespace onefold {

struct WalkTrees {
  const WalkFiles& files;
  const WalkMap& map;
  const ChecksumStore& checksums;
  size_t root_count = 0;

  // See Volume::Search. NOT_FOUND: a tree that walks do not have.
  absl::Status Search(const TreeRange& range,
                      const std::function<bool(const TreeItem&)>& visit) const;

  // See Volume::References. A holder outside of the walk is a reference from tree 0.
  std::vector<RawReference> ReferencesOf(size_t piece) const;

  // Whether something outside of the walk refers to the piece.
  bool IsHeldOutside(size_t piece) const;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_WALK_TREES_H_
