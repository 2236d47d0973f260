// From the order of a run to the filesystem and inodes it may touch. The fence between a
// coordinator, whoever has taken it over, and the host's files.

#ifndef ONEFOLD_WORKER_DAEMON_RUN_TARGET_H_
#define ONEFOLD_WORKER_DAEMON_RUN_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/run_report.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/exclude.h"
#include "worker/mounts.h"
#include "worker/resolve_targets.h"
#include "worker/volume_run.h"

namespace onefold {

// What the host's own configuration says.
struct HostLimits {
  std::vector<std::string> allow = {};            // absolute paths
  std::vector<std::string> own_directories = {};  // state of onefold itself: never touched
  int thread_count_max = 0;                       // 0: no limit
};

struct RunTarget {
  VolumeTarget target;
  ExcludeList excludes;
  RunOptions options;
  // What was asked for but is not there.
  std::vector<Problem> problems;
};

// INVALID_ARGUMENT     the order itself is wrong; it cannot ever be carried out.
// UNAVAILABLE          its volume is not mounted (now).
// FAILED_PRECONDITION  its volume is in trouble, or nothing of what it asks for is allowed; the
//                      message says what to do.
absl::StatusOr<RunTarget> FindRunTarget(const v1::RunOrder& order, const HostLimits& limits,
                                        const MountTable& mounts, PathSource& paths);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_RUN_TARGET_H_
