// VolumeRun: one run over one filesystem, from scan to settled. The worker's main path:
//
//   scan    extent tree ⋈ checksum tree → fingerprints → coordinator
//   plan    groups of equal extents come back, best first
//   settle  references, scope, gain: what stays, what is dropped (settle*.h)
//   execute prefetch and FIDEDUPERANGE (executor.h)
//   verify  after a commit, which extents are gone

#ifndef ONEFOLD_WORKER_VOLUME_RUN_H_
#define ONEFOLD_WORKER_VOLUME_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/run_report.h"
#include "common/stop.h"
#include "common/uuid.h"
#include "worker/coordinator_client.h"
#include "worker/exclude.h"
#include "worker/operation_gate.h"
#include "worker/progress.h"
#include "worker/scope.h"

namespace onefold {

// Relocation costs writing and an extent more in the file; twice as much is worth that.
inline constexpr double kRelocateGainMin = 2;
// Next to nothing, but one block for a hundred is no gain: the file falls into one more piece.
inline constexpr double kRelocateAllGainMin = 0.01;

// What a person asked for.
struct RunOptions {
  bool dry_run = false;
  bool full = false;         // stream old checksums past all heads, reconsider everything
  bool match_inside = true;  // --match=all
  bool skip_readonly_subvolumes = false;
  // What holds an extent and lies nowhere else may be written anew if so many bytes are freed, net,
  // for each byte that is written. Without `relocate`, what that would free is counted only.
  bool relocate = false;
  double relocate_gain_min = kRelocateGainMin;
  int64_t min_file_bytes = 0;  // files smaller than this are left alone
  int64_t max_file_bytes = 0;  // files larger than this are left alone; 0: no limit
  int thread_count = 0;        // 0: chosen by the number of cores
  int example_count = 0;       // how many examples to collect
  // Where catalogues of walks are kept; needed for targets that are walked.
  std::string walk_directory = {};
  // Must outlive the run; nullptr: nothing holds it up.
  OperationGate* gate = nullptr;
};

// One filesystem that is to be worked on.
struct VolumeTarget {
  VolumeUuid uuid;
  // A path on a writable mount of it that can reach the given roots.
  std::string mount_path;
  std::vector<ScopeRoot> roots;  // at least one
  // Its trees are closed to us, or it has none (XFS): directories are walked instead, and each
  // piece of data is read once (walk_volume.h).
  bool walk = false;
};

// Works on `target` until done or `stop`. Fills in `report` in any case, problems included.
//
// Blocking; uses its own threads. OK also when things were pinned, skipped or stopped; an error
// means that this volume could not be worked on (the message says why and what to do).
absl::Status RunVolume(const VolumeTarget& target, const RunOptions& options,
                       const ExcludeList& excludes, CoordinatorClient& coordinator, Clock& clock,
                       StopSignal& stop, Progress& progress, VolumeReport& report);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_VOLUME_RUN_H_
