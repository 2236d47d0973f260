#include "worker/resolve_targets.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/path.h"
#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

constexpr char kMissing[] = "missing";
constexpr char kUnreadable[] = "unreadable";
constexpr char kUnsupported[] = "unsupported filesystem";
constexpr char kReadOnlyMount[] = "read-only mount";

// Where a path lies, whatever it is called.
struct Place {
  std::string device;
  std::string path;  // within the filesystem

  bool Contains(const Place& other) const {
    return device == other.device && PathBelow(path, other.path).has_value();
  }
};

// A path that can be worked on.
struct Root {
  std::string path;
  Place place;
  BtrfsPath facts;
};

class Resolver {
 public:
  Resolver(const MountTable& mounts, PathSource& source, ExcludeList& excludes)
      : mounts_(mounts), source_(source), excludes_(excludes) {}

  ResolvedTargets Run(const std::vector<std::string>& paths) {
    CheckLiteralExcludes();
    for (const std::string& path : paths) AddGiven(path);
    const std::vector<Root> given = roots_;
    for (const Root& root : given) {
      if (root.facts.is_directory) AddMountsBelow(root);
    }
    result_.foreign_mounts = static_cast<int64_t>(foreign_.size());
    Fold();
    ReportReadOnly();
    NameTheRoots();
    MakeTargets();
    return std::move(result_);
  }

 private:
  struct Given {
    std::string typed;
    std::string path;  // without symlinks
  };

  Place PlaceOf(const std::string& path, const VolumeUuid& uuid) const {
    const Mount* mount = mounts_.MountOf(path);
    // In a chroot below a mount the table does not show what the root lies on.
    if (mount == nullptr) return {ToString(uuid), path};
    return {mount->device, *mounts_.PathInFilesystem(path)};
  }

  void AddProblem(const char* reason, const std::string& path, std::string detail,
                  std::optional<VolumeUuid> uuid = std::nullopt) {
    result_.problems.push_back({{reason, path, std::move(detail)}, uuid});
  }

  // Warns of absolute patterns that name nothing, and follows their symlinks.
  void CheckLiteralExcludes() {
    for (const ExcludeList::LiteralPath& literal : excludes_.LiteralAbsolutePaths()) {
      const absl::StatusOr<std::string> real = source_.RealPath(literal.path);
      if (real.ok()) {
        if (*real != literal.path) excludes_.AddSpelling(literal.index, *real);
      } else if (absl::IsNotFound(real.status())) {
        result_.warnings.push_back(absl::StrCat("--exclude ", Escape(excludes_.text(literal.index)),
                                                ": there is no such path"));
      }
    }
  }

  void AddGiven(const std::string& typed) {
    const absl::StatusOr<std::string> path = source_.RealPath(typed);
    if (!path.ok()) {
      if (absl::IsNotFound(path.status())) {
        AddProblem(kMissing, typed, "there is no such path; is its disk mounted?");
      } else {
        AddProblem(kUnreadable, typed, std::string(path.status().message()));
      }
      return;
    }
    absl::StatusOr<BtrfsPath> facts = source_.Inspect(*path);
    if (!facts.ok()) {
      AddRefused(typed, *path, facts.status());
      return;
    }
    Root root{*path, PlaceOf(*path, facts->uuid), *facts};
    given_.push_back({typed, *path});
    if (GivenIsExcluded(typed, root)) {
      result_.excluded_paths.push_back(typed);
      return;
    }
    (facts->read_only_mount ? read_only_ : roots_).push_back(std::move(root));
  }

  void AddRefused(const std::string& typed, const std::string& path, const absl::Status& status) {
    switch (status.code()) {
      case absl::StatusCode::kUnimplemented: {
        const Mount* mount = mounts_.MountOf(path);
        const bool says_more = status.message() != kNotBtrfs;
        AddProblem(kUnsupported, typed,
                   says_more ? std::string(status.message())
                             : absl::StrCat("it lies on ",
                                            mount == nullptr ? "something else" : mount->type,
                                            "; only btrfs can be deduped, and XFS that was made "
                                            "with reflink=1. Is its disk mounted?"));
        return;
      }
      case absl::StatusCode::kInvalidArgument:
        AddProblem(kUnsupported, typed, std::string(status.message()));
        return;
      case absl::StatusCode::kNotFound: AddProblem(kMissing, typed, "it is gone"); return;
      default: AddProblem(kUnreadable, typed, std::string(status.message()));
    }
  }

  // Whether an absolute pattern excludes a given path, or something above it, under any name.
  bool GivenIsExcluded(const std::string& typed, const Root& root) const {
    if (!excludes_.has_absolute()) return false;
    const bool is_directory = root.facts.is_directory;
    if (NameIsExcluded(typed, is_directory) || NameIsExcluded(root.path, is_directory)) return true;
    const std::vector<std::string> names =
        mounts_.PathsTo(root.place.device, root.place.path, /*writable_only=*/false);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return NameIsExcluded(name, is_directory); });
  }

  bool NameIsExcluded(const std::string& name, bool is_directory) const {
    for (size_t end = name.find('/', 1); end != std::string::npos; end = name.find('/', end + 1)) {
      if (excludes_.Match("", name.substr(0, end), true).has_value()) return true;
    }
    return excludes_.Match("", name, is_directory).has_value();
  }

  // The usual case: / and /home are two subvolumes of one filesystem, and / was given.
  void AddMountsBelow(const Root& root) {
    for (const Mount* mount : mounts_.MountsBelow(root.path)) {
      if (mount->device != root.place.device) {
        if (!IsCovered({mount->device, mount->root})) LeaveAlone(*mount);
        continue;
      }
      if (MountIsExcluded(root, *mount)) continue;
      const Place place{mount->device, mount->root};
      if (IsCovered(place)) continue;
      if (mount->read_only) {
        foreign_.insert(mount->id);
        continue;
      }
      const absl::StatusOr<BtrfsPath> facts = source_.Inspect(mount->point);
      // A mounted socket, or a mount that went away.
      if (!facts.ok() || facts->uuid != root.facts.uuid || facts->read_only_mount) continue;
      roots_.push_back({mount->point, place, *facts});
    }
  }

  void LeaveAlone(const Mount& mount) {
    if (foreign_.insert(mount.id).second && mount.type == "btrfs" &&
        result_.foreign_btrfs.size() < kForeignMountsListedMax) {
      result_.foreign_btrfs.push_back(mount.point);
    }
  }

  bool MountIsExcluded(const Root& root, const Mount& mount) const {
    const absl::string_view below = *PathBelow(root.path, mount.point);
    for (size_t end = below.find('/');; end = below.find('/', end + 1)) {
      const absl::string_view part = below.substr(0, end);
      if (excludes_.Match(part, JoinPath(root.path, part), true).has_value()) return true;
      if (end == absl::string_view::npos) return false;
    }
  }

  bool IsCovered(const Place& place) const {
    return std::any_of(roots_.begin(), roots_.end(),
                       [&](const Root& root) { return root.place.Contains(place); });
  }

  // Drops roots that lie within another one; of equals, the first stays.
  void Fold() {
    std::vector<Root> kept;
    for (size_t i = 0; i < roots_.size(); ++i) {
      bool covered = false;
      for (size_t j = 0; j < roots_.size() && !covered; ++j) {
        const bool equal = roots_[i].place.Contains(roots_[j].place);
        covered = j != i && roots_[j].place.Contains(roots_[i].place) && (!equal || j < i);
      }
      if (!covered) kept.push_back(roots_[i]);
    }
    roots_ = std::move(kept);
  }

  void ReportReadOnly() {
    for (const Root& root : read_only_) {
      if (IsCovered(root.place)) continue;  // the same was given through a writable mount
      const std::vector<std::string> writable =
          mounts_.PathsTo(root.place.device, root.place.path, /*writable_only=*/true);
      const Mount* mount = mounts_.MountOf(root.path);
      std::string detail =
          !writable.empty()
              ? absl::StrCat("the same is mounted writable: give ", Escape(writable[0]), " instead")
              : absl::StrCat(
                    "nothing can be shared through it; mount it writable (mount -o "
                    "remount,rw ",
                    Escape(mount == nullptr ? root.path : mount->point), ")");
      AddProblem(kReadOnlyMount, root.path, std::move(detail), root.facts.uuid);
    }
  }

  // Tells the list of excludes under which names people know what the worker will see.
  void NameTheRoots() {
    if (excludes_.empty()) return;
    for (const Root& root : roots_) {
      for (const Given& given : given_) {
        const auto below = BelowRoot(root, given.path);
        if (!below.has_value()) continue;
        const std::string seen = JoinPath(root.path, *below);
        excludes_.AddGivenRoot(seen);
        excludes_.AddAlias(seen, given.typed);
      }
      if (excludes_.has_absolute()) AddMountNames(root);
    }
    // Roots that are mounts below a given path: that path is where patterns count from.
    for (const Given& given : given_) excludes_.AddGivenRoot(given.path);
  }

  std::optional<std::string> BelowRoot(const Root& root, const std::string& path) const {
    const Place place = PlaceOf(path, root.facts.uuid);
    if (!root.place.Contains(place)) return std::nullopt;
    return std::string(*PathBelow(root.place.path, place.path));
  }

  void AddMountNames(const Root& root) {
    for (const Mount& mount : mounts_.mounts()) {
      if (mount.device != root.place.device || mounts_.MountOf(mount.point) != &mount) continue;
      if (const auto below = PathBelow(root.place.path, mount.root)) {
        excludes_.AddAlias(JoinPath(root.path, *below), mount.point);
      } else if (const auto above = PathBelow(mount.root, root.place.path)) {
        excludes_.AddAlias(root.path, JoinPath(mount.point, *above));
      }
    }
  }

  void MakeTargets() {
    for (const Root& root : roots_) {
      auto target =
          std::find_if(result_.targets.begin(), result_.targets.end(),
                       [&](const VolumeTarget& known) { return known.uuid == root.facts.uuid; });
      if (target == result_.targets.end()) {
        target = result_.targets.insert(
            target, {root.facts.uuid, MountPathOf(root), {}, root.facts.is_xfs});
      }
      target->roots.push_back({root.path, root.facts.subvolume_id, root.facts.inode});
    }
  }

  // The mount point if it can be reached, which is what people call the volume; else the root
  // itself.
  std::string MountPathOf(const Root& root) const {
    const Mount* mount = mounts_.MountOf(root.path);
    if (mount == nullptr) return root.path;
    const absl::StatusOr<BtrfsPath> facts = source_.Inspect(mount->point);
    const bool usable = facts.ok() && facts->uuid == root.facts.uuid && !facts->read_only_mount;
    return usable ? mount->point : root.path;
  }

  const MountTable& mounts_;
  PathSource& source_;
  ExcludeList& excludes_;
  std::vector<Given> given_;
  std::vector<Root> roots_;
  std::vector<Root> read_only_;
  std::set<int> foreign_;  // mount ids
  ResolvedTargets result_;
};

}  // namespace

absl::StatusOr<std::string> SystemPathSource::RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) return std::string(real.get());
  if (errno == ENOTDIR) return absl::NotFoundError("no such path");
  return StatusFromErrno(errno, "resolving it");
}

absl::StatusOr<BtrfsPath> SystemPathSource::Inspect(const std::string& path) {
  absl::StatusOr<BtrfsPath> facts = InspectBtrfsPath(path);
  if (facts.ok() && facts->is_xfs && !with_xfs_) return absl::UnimplementedError(kNotBtrfs);
  return facts;
}

ResolvedTargets ResolveTargets(const std::vector<std::string>& paths, const MountTable& mounts,
                               PathSource& source, ExcludeList& excludes) {
  return Resolver(mounts, source, excludes).Run(paths);
}

void ExcludeStateDirectory(const std::string& state_directory,
                           const std::vector<VolumeTarget>& targets, const MountTable& mounts,
                           ExcludeList& excludes) {
  const Mount* state_mount = mounts.MountOf(state_directory);
  const std::optional<std::string> state_place = mounts.PathInFilesystem(state_directory);
  for (const VolumeTarget& target : targets) {
    for (const ScopeRoot& root : target.roots) {
      const Mount* root_mount = mounts.MountOf(root.path);
      if (state_mount == nullptr || root_mount == nullptr) {
        if (PathBelow(root.path, state_directory).has_value()) excludes.AddLiteral(state_directory);
        continue;
      }
      if (state_mount->device != root_mount->device) continue;
      const std::string root_place = *mounts.PathInFilesystem(root.path);
      if (const auto below = PathBelow(root_place, *state_place)) {
        excludes.AddLiteral(JoinPath(root.path, *below));
      } else if (PathBelow(*state_place, root_place).has_value()) {
        excludes.AddLiteral(root.path);  // somebody gave a part of the state directory
      }
    }
  }
}

}  // namespace onefold
