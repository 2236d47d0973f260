#include "worker/narrow_targets.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/path.h"

namespace onefold {
namespace {

// Where a root lies, whatever it is called.
struct Place {
  std::string device;
  std::string path;  // within the filesystem
};

class Narrowing {
 public:
  Narrowing(const MountTable& mounts, ExcludeList& excludes)
      : mounts_(mounts), excludes_(excludes) {}

  VolumeTarget Narrow(const VolumeTarget& allowed, const VolumeTarget& asked) {
    result_ = {.uuid = allowed.uuid, .mount_path = allowed.mount_path, .roots = {}};
    for (const ScopeRoot& wanted : asked.roots) {
      for (const ScopeRoot& granted : allowed.roots) Intersect(asked, wanted, granted);
    }
    return std::move(result_);
  }

 private:
  Place PlaceOf(const VolumeTarget& target, const ScopeRoot& root) const {
    const Mount* mount = mounts_.MountOf(root.path);
    // In a chroot below a mount the table does not show what the root lies on.
    if (mount == nullptr) return {ToString(target.uuid), root.path};
    return {mount->device, *mounts_.PathInFilesystem(root.path)};
  }

  void Intersect(const VolumeTarget& asked, const ScopeRoot& wanted, const ScopeRoot& granted) {
    const Place wanted_place = PlaceOf(asked, wanted);
    const Place granted_place = PlaceOf(asked, granted);
    if (wanted_place.device != granted_place.device) return;
    if (PathBelow(granted_place.path, wanted_place.path).has_value()) return Add(wanted);
    const auto below = PathBelow(wanted_place.path, granted_place.path);
    if (!below.has_value() || IsExcluded(wanted, *below)) return;
    const std::string known_as = JoinPath(wanted.path, *below);
    if (known_as != granted.path) excludes_.AddAlias(granted.path, known_as);
    Add(granted);
  }

  // Whether a pattern excludes what lies between the two, or the inner one.
  bool IsExcluded(const ScopeRoot& outer, absl::string_view below) const {
    for (size_t end = below.find('/');; end = below.find('/', end + 1)) {
      const absl::string_view part = below.substr(0, end);
      if (excludes_.Match(part, JoinPath(outer.path, part), true).has_value()) return true;
      if (end == absl::string_view::npos) return false;
    }
  }

  void Add(const ScopeRoot& root) {
    const bool known =
        std::any_of(result_.roots.begin(), result_.roots.end(), [&](const ScopeRoot& other) {
          return other.subvolume_id == root.subvolume_id && other.inode == root.inode;
        });
    if (!known) result_.roots.push_back(root);
  }

  const MountTable& mounts_;
  ExcludeList& excludes_;
  VolumeTarget result_;
};

}  // namespace

std::vector<VolumeTarget> NarrowTargets(const std::vector<VolumeTarget>& allowed,
                                        const std::vector<VolumeTarget>& asked,
                                        const MountTable& mounts, ExcludeList& excludes) {
  std::vector<VolumeTarget> narrowed;
  for (const VolumeTarget& wanted : asked) {
    const auto granted =
        std::find_if(allowed.begin(), allowed.end(),
                     [&](const VolumeTarget& target) { return target.uuid == wanted.uuid; });
    if (granted == allowed.end()) continue;
    VolumeTarget target = Narrowing(mounts, excludes).Narrow(*granted, wanted);
    if (!target.roots.empty()) narrowed.push_back(std::move(target));
  }
  return narrowed;
}

}  // namespace onefold
