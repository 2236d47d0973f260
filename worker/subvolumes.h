// Subvolumes: what the root tree says about the subvolumes and snapshots of a volume.
//
// Thread-safe. Unknown ids (a snapshot taken during the run) are looked up when asked for.

#ifndef ONEFOLD_WORKER_SUBVOLUMES_H_
#define ONEFOLD_WORKER_SUBVOLUMES_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "worker/btrfs_items.h"
#include "worker/volume.h"

namespace onefold {

class Subvolumes {
 public:
  // `volume` must outlive this object.
  explicit Subvolumes(Volume& volume) : volume_(volume) {}

  // Reads all of them.
  absl::Status Load();

  // Digest of the set: ids, uuids, read-only flags, whether they are being deleted.
  uint64_t SetDigest();

  // A subvolume that is gone or being deleted has references 0.
  RootItem Find(uint64_t subvolume);

 private:
  Volume& volume_;
  Mutex mutex_;
  absl::flat_hash_map<uint64_t, RootItem> items_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_SUBVOLUMES_H_
