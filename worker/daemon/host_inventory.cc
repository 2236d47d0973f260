#include "worker/daemon/host_inventory.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "worker/exclude.h"

namespace onefold {
namespace {

// A host of containers mounts one filesystem hundreds of times; people look at a few.
constexpr int kMountPathsMax = 16;
constexpr int kAllowedRootsMax = 64;
constexpr size_t kVolumesMax = 256;

std::string Text(const std::string& bytes) { return IsUtf8(bytes) ? bytes : Escape(bytes); }

bool AllReadOnly(const MountedFilesystem& filesystem) {
  return std::all_of(filesystem.mounts.begin(), filesystem.mounts.end(),
                     [](const Mount* mount) { return mount->read_only; });
}

v1::MountedVolume Describe(const MountedFilesystem& filesystem, FactsSource& facts) {
  v1::MountedVolume volume;
  volume.set_volume_uuid(ToBytes(filesystem.uuid));
  for (const Mount* mount : filesystem.mounts) {
    if (volume.mount_paths_size() < kMountPathsMax) volume.add_mount_paths(Text(mount->point));
  }
  const absl::StatusOr<BtrfsFacts> known = facts.Facts(filesystem.mounts[0]->point);
  if (known.ok()) {
    volume.set_label(Text(known->label));
    volume.set_size_bytes(known->size_bytes);
    volume.set_used_bytes(known->used_bytes);
  }
  if (AllReadOnly(filesystem)) volume.set_trouble("mounted read-only");
  return volume;
}

void NoteAllowed(const ResolvedTargets& allowed, const VolumeUuid& uuid,
                 v1::MountedVolume& volume) {
  for (const VolumeTarget& target : allowed.targets) {
    if (target.uuid != uuid) continue;
    for (const ScopeRoot& root : target.roots) {
      if (volume.allowed_roots_size() < kAllowedRootsMax) volume.add_allowed_roots(Text(root.path));
    }
  }
  if (volume.allowed_roots_size() > 0 || !volume.trouble().empty()) return;
  // Something is allowed, but it cannot be worked on.
  for (const TargetProblem& problem : allowed.problems) {
    if (problem.uuid != uuid) continue;
    volume.set_trouble(Text(absl::StrCat(Escape(problem.problem.path), ": ", problem.problem.reason,
                                         "; ", problem.problem.detail)));
    return;
  }
}

}  // namespace

absl::StatusOr<BtrfsFacts> SystemFactsSource::Facts(const std::string& path) {
  return ReadBtrfsFacts(path);
}

std::vector<MountedFilesystem> FindFilesystems(const MountTable& mounts, PathSource& paths) {
  std::map<std::string, std::vector<const Mount*>> by_device;
  for (const Mount& mount : mounts.mounts()) {
    if (mount.type == "btrfs" && mounts.MountOf(mount.point) == &mount) {
      by_device[mount.device].push_back(&mount);
    }
  }
  std::vector<MountedFilesystem> found;
  for (auto& [device, points] : by_device) {
    std::stable_partition(points.begin(), points.end(),
                          [](const Mount* mount) { return !mount->read_only; });
    for (const Mount* point : points) {
      // A mounted file is no place to look from; the next one may be.
      const absl::StatusOr<BtrfsPath> facts = paths.Inspect(point->point);
      if (!facts.ok() || !facts->is_directory) continue;
      std::rotate(points.begin(), std::find(points.begin(), points.end(), point), points.end());
      found.push_back({.uuid = facts->uuid, .device = device, .mounts = std::move(points)});
      break;
    }
  }
  std::stable_sort(
      found.begin(), found.end(),
      [](const MountedFilesystem& a, const MountedFilesystem& b) { return a.uuid < b.uuid; });
  return found;
}

HostInventory TakeInventory(const MountTable& mounts, const std::vector<std::string>& allow,
                            PathSource& paths, FactsSource& facts) {
  HostInventory inventory;
  ExcludeList nothing;
  const ResolvedTargets allowed = ResolveTargets(allow, mounts, paths, nothing);
  for (const TargetProblem& problem : allowed.problems) {
    inventory.problems.push_back(absl::StrCat("allow ", Escape(problem.problem.path), ": ",
                                              problem.problem.reason, "; ",
                                              EscapeText(problem.problem.detail)));
  }
  const std::vector<MountedFilesystem> filesystems = FindFilesystems(mounts, paths);
  for (size_t i = 0; i < filesystems.size(); ++i) {
    const MountedFilesystem& filesystem = filesystems[i];
    if (i > 0 && filesystems[i - 1].uuid == filesystem.uuid) {
      v1::MountedVolume& first = inventory.volumes.back();
      first.set_duplicate_uuid(true);
      first.set_trouble(absl::StrCat(
          "another filesystem with this uuid is mounted at ", Escape(filesystem.mounts[0]->point),
          ": unmount one of them, or give the copy another uuid (btrfstune -u)"));
      continue;
    }
    if (inventory.volumes.size() == kVolumesMax) {
      inventory.problems.push_back("there are more filesystems than one host may report");
      break;
    }
    v1::MountedVolume volume = Describe(filesystem, facts);
    NoteAllowed(allowed, filesystem.uuid, volume);
    inventory.volumes.push_back(std::move(volume));
  }
  return inventory;
}

}  // namespace onefold
