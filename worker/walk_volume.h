// WalkVolume: a Volume whose trees are closed to us, without CAP_SYS_ADMIN or on XFS. A walk over
// the directories, FIEMAP and reading each piece of data once (walk_map.h) stand in for the trees,
// and Search answers as if there were some: one subvolume, with the inodes, extents and checksums
// of what was walked. So everything else, from scanner to verifier, is the same.
//
// What it cannot know: who else refers to the data. A piece that the kernel calls shared and that
// has one reference in the walk is held by something outside; beyond that, whether giving an extent
// up frees it is not known, so the run's report has no figure for it.
//
// Files are opened by path, below the open root, and must be the ones that were walked: same inode,
// size and times.

#ifndef ONEFOLD_WORKER_WALK_VOLUME_H_
#define ONEFOLD_WORKER_WALK_VOLUME_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/run_report.h"
#include "common/stop.h"
#include "worker/btrfs_volume.h"
#include "worker/exclude.h"
#include "worker/extent_view.h"
#include "worker/operation_gate.h"
#include "worker/progress.h"
#include "worker/scope.h"
#include "worker/volume.h"

namespace onefold {

struct WalkOptions {
  // Where catalogues of walks are kept; made if need be.
  std::string directory;
  FileLimits limits;
  int thread_count = 4;
};

class WalkVolume : public Volume {
 public:
  // Brings what is known up to date: walks, maps, and reads what is new or changed. Before anything
  // else, once. What could not be read goes to `problem`, one for each file or directory, the
  // rest goes on.
  //
  // CANCELLED  stopped; what was read is kept for the next time.
  virtual absl::Status Walk(const ExcludeList& excludes, Clock& clock, StopSignal& stop,
                            Progress& progress, OperationGate* gate,
                            const std::function<void(Problem)>& problem) = 0;

  // The roots as this volume numbers them.
  virtual std::vector<ScopeRoot> Roots() = 0;

  // Files that could not be looked at because they changed meanwhile.
  virtual int64_t changed_count() = 0;

  // Keeps what is known for the next run. After the run's last request.
  virtual absl::Status Save() = 0;
};

// `roots` lie on one filesystem, as resolved a moment ago, `uuid` is the filesystem's. kChanging
// locks each of their directories for the time that the volume lives.
//
// UNAVAILABLE    another run works on one of them.
// UNIMPLEMENTED  neither btrfs nor XFS, or a block size that is not known here.
absl::StatusOr<std::unique_ptr<WalkVolume>> OpenWalkVolume(const VolumeUuid& uuid,
                                                           const std::vector<ScopeRoot>& roots,
                                                           const WalkOptions& options,
                                                           Access access);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_WALK_VOLUME_H_
