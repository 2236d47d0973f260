#include "worker/daemon/run_target.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/path.h"
#include "common/status_macros.h"
#include "worker/daemon/host_inventory.h"
#include "worker/narrow_targets.h"

namespace onefold {
namespace {

// Of an order, so that a hostile one costs little.
constexpr int kRootsMax = 1024;
constexpr int kExcludesMax = 4096;
constexpr size_t kPathBytesMax = 65536;
// As `onefold dedupe --threads`.
constexpr int kThreadsMax = 256;

absl::Status CheckTexts(const google::protobuf::RepeatedPtrField<std::string>& texts, int count_max,
                        absl::string_view what) {
  if (texts.size() > count_max) return absl::InvalidArgumentError(absl::StrCat("too many ", what));
  for (const std::string& text : texts) {
    if (text.empty() || text.size() > kPathBytesMax || absl::StrContains(text, '\0')) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": empty, too long or cut by a zero"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RunOptions> OptionsOf(const v1::RunOrder& order, const HostLimits& limits) {
  const v1::RunScope& scope = order.scope();
  if (scope.min_file_bytes() < 0 || scope.max_file_bytes() < 0 ||
      (scope.max_file_bytes() > 0 && scope.max_file_bytes() < scope.min_file_bytes())) {
    return absl::InvalidArgumentError("the limits of file sizes leave no file");
  }
  int threads = std::clamp(order.throttle().thread_count(), 0, kThreadsMax);
  if (limits.thread_count_max > 0) {
    threads = threads > 0 ? std::min(threads, limits.thread_count_max) : limits.thread_count_max;
  }
  return RunOptions{.dry_run = order.dry_run(),
                    .full = order.full(),
                    .match_inside = !scope.match_extents_only(),
                    .skip_readonly_subvolumes = scope.skip_readonly_subvolumes(),
                    .min_file_bytes = scope.min_file_bytes(),
                    .max_file_bytes = scope.max_file_bytes(),
                    .thread_count = threads};
}

// The one mounted filesystem with the uuid.
absl::StatusOr<MountedFilesystem> FindVolume(const VolumeUuid& uuid, const MountTable& mounts,
                                             PathSource& paths) {
  std::optional<MountedFilesystem> found;
  for (MountedFilesystem& filesystem : FindFilesystems(mounts, paths)) {
    if (filesystem.uuid != uuid) continue;
    if (found.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "two filesystems with the uuid ", ToString(uuid), " are mounted, at ",
          Escape(found->mounts[0]->point), " and at ", Escape(filesystem.mounts[0]->point),
          ": unmount one of them, or give the copy another uuid (btrfstune -u)"));
    }
    found = std::move(filesystem);
  }
  if (!found.has_value()) {
    return absl::UnavailableError(absl::StrCat("volume ", ToString(uuid), " is not mounted"));
  }
  return *std::move(found);
}

// Paths as asked for; those with a leading "./" count from where the volume is mounted.
absl::StatusOr<std::vector<std::string>> AskedPaths(const v1::RunScope& scope,
                                                    const MountedFilesystem& filesystem,
                                                    const HostLimits& limits) {
  std::vector<std::string> paths;
  for (const std::string& root : scope.roots()) {
    if (root == "." || absl::StartsWith(root, "./")) {
      paths.push_back(JoinPath(filesystem.mounts[0]->point, root.size() < 2 ? "" : root.substr(2)));
    } else if (absl::StartsWith(root, "/")) {
      paths.push_back(root);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("root ", Escape(root), " is neither absolute nor begins with ./"));
    }
  }
  return paths.empty() ? limits.allow : paths;
}

std::vector<VolumeTarget> OnlyOf(const VolumeUuid& uuid, std::vector<VolumeTarget> targets) {
  std::erase_if(targets, [&](const VolumeTarget& target) { return target.uuid != uuid; });
  return targets;
}

absl::Status NothingAllowed(const VolumeUuid& uuid, const MountedFilesystem& filesystem,
                            const ResolvedTargets& allowed) {
  for (const TargetProblem& problem : allowed.problems) {
    if (problem.uuid != uuid) continue;
    return absl::FailedPreconditionError(absl::StrCat(Escape(problem.problem.path), ": ",
                                                      problem.problem.reason, "; ",
                                                      EscapeText(problem.problem.detail)));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "this host allows nothing of the volume to be touched: name a path, for example ",
      Escape(filesystem.mounts[0]->point),
      ", under `allow` in the worker's configuration and restart the worker"));
}

}  // namespace

absl::StatusOr<RunTarget> FindRunTarget(const v1::RunOrder& order, const HostLimits& limits,
                                        const MountTable& mounts, PathSource& paths) {
  const std::optional<VolumeUuid> uuid = VolumeUuidFromBytes(order.volume_uuid());
  if (!uuid.has_value()) return absl::InvalidArgumentError("volume_uuid: not 16 bytes");
  RETURN_IF_ERROR(CheckTexts(order.scope().roots(), kRootsMax, "roots"));
  RETURN_IF_ERROR(CheckTexts(order.scope().excludes(), kExcludesMax, "excludes"));
  RunTarget result;
  ASSIGN_OR_RETURN(result.options, OptionsOf(order, limits));
  ASSIGN_OR_RETURN(result.excludes, ExcludeList::Parse({order.scope().excludes().begin(),
                                                        order.scope().excludes().end()}));
  ASSIGN_OR_RETURN(const MountedFilesystem filesystem, FindVolume(*uuid, mounts, paths));
  ASSIGN_OR_RETURN(const std::vector<std::string> asked_paths,
                   AskedPaths(order.scope(), filesystem, limits));

  ExcludeList nothing;
  const ResolvedTargets allowed = ResolveTargets(limits.allow, mounts, paths, nothing);
  const std::vector<VolumeTarget> granted = OnlyOf(*uuid, allowed.targets);
  if (granted.empty()) return NothingAllowed(*uuid, filesystem, allowed);
  const ResolvedTargets asked = ResolveTargets(asked_paths, mounts, paths, result.excludes);
  std::vector<VolumeTarget> narrowed =
      NarrowTargets(granted, OnlyOf(*uuid, asked.targets), mounts, result.excludes);
  if (narrowed.empty()) {
    return absl::FailedPreconditionError(
        "nothing of what the run asks for lies within what this host allows: compare the policy's "
        "roots with `allow` in the worker's configuration");
  }
  result.target = std::move(narrowed[0]);
  for (const TargetProblem& problem : asked.problems) result.problems.push_back(problem.problem);
  for (const std::string& own : limits.own_directories) {
    ExcludeStateDirectory(paths.RealPath(own).value_or(own), {result.target}, mounts,
                          result.excludes);
  }
  return result;
}

}  // namespace onefold
