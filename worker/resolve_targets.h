// From the paths a person gave to the filesystems and roots that are worked on.
//
// Two names of one place must not become two roots, and what is said about one name (--exclude
// /data) must hold under the other. Both are decided by where a path lies within its filesystem,
// which the mount table tells: /m1/a, /m2/a (the same filesystem mounted twice), a bind mount of it
// and a symlink to it are all "/a of filesystem 0:42".

#ifndef ONEFOLD_WORKER_RESOLVE_TARGETS_H_
#define ONEFOLD_WORKER_RESOLVE_TARGETS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/run_report.h"
#include "common/uuid.h"
#include "worker/btrfs_resolve.h"
#include "worker/exclude.h"
#include "worker/mounts.h"
#include "worker/volume_run.h"

namespace onefold {

// The system's answers about paths; tests give their own.
class PathSource {
 public:
  virtual ~PathSource() = default;
  // `path` without symlinks. NOT_FOUND, PERMISSION_DENIED, …
  virtual absl::StatusOr<std::string> RealPath(const std::string& path) = 0;
  // See InspectBtrfsPath.
  virtual absl::StatusOr<BtrfsPath> Inspect(const std::string& path) = 0;
};

// Asks the running system.
class SystemPathSource final : public PathSource {
 public:
  // `with_xfs`: paths on XFS are answered, too; they can only be walked.
  explicit SystemPathSource(bool with_xfs = false) : with_xfs_(with_xfs) {}
  absl::StatusOr<std::string> RealPath(const std::string& path) override;
  absl::StatusOr<BtrfsPath> Inspect(const std::string& path) override;

 private:
  const bool with_xfs_;
};

struct TargetProblem {
  Problem problem;
  // The filesystem it belongs to, if known.
  std::optional<VolumeUuid> uuid;
};

struct ResolvedTargets {
  std::vector<VolumeTarget> targets;
  std::vector<TargetProblem> problems;
  // Given paths that an absolute pattern excludes.
  std::vector<std::string> excluded_paths;
  // Mounts below the given paths that are left alone.
  int64_t foreign_mounts = 0;
  // Mount points of those that are btrfs (at most kForeignMountsListedMax).
  std::vector<std::string> foreign_btrfs;
  // Sentences for people.
  std::vector<std::string> warnings;
};

// `paths`: absolute, as given. Tells `excludes` the names under which the roots are known.
//
// What cannot be worked on becomes a problem, the rest goes on; no targets is a possible answer.
ResolvedTargets ResolveTargets(const std::vector<std::string>& paths, const MountTable& mounts,
                               PathSource& source, ExcludeList& excludes);

// Excludes the state directory wherever `targets` reach it. `state_directory`: without symlinks.
void ExcludeStateDirectory(const std::string& state_directory,
                           const std::vector<VolumeTarget>& targets, const MountTable& mounts,
                           ExcludeList& excludes);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_RESOLVE_TARGETS_H_
