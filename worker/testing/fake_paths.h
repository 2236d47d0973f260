// FakePathSource: a system that has nothing but a mount table. Every path exists unless it was
// removed; inode numbers follow from the place within the filesystem.

#ifndef ONEFOLD_WORKER_TESTING_FAKE_PATHS_H_
#define ONEFOLD_WORKER_TESTING_FAKE_PATHS_H_

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/path.h"
#include "worker/mounts.h"
#include "worker/resolve_targets.h"

namespace onefold {

class FakePathSource final : public PathSource {
 public:
  // Of the filesystem with the device "0:NUMBER".
  static VolumeUuid Uuid(uint8_t number) {
    VolumeUuid uuid;
    uuid.bytes[0] = number;
    return uuid;
  }

  // `mounts` must outlive this object.
  explicit FakePathSource(const MountTable& mounts) : mounts_(mounts) {}

  void Link(const std::string& from, const std::string& to) { links_[from] = to; }
  void Remove(const std::string& path) { gone_.push_back(path); }
  void MakeFile(const std::string& path) { files_.push_back(path); }

  absl::StatusOr<std::string> RealPath(const std::string& path) override {
    for (const auto& [from, to] : links_) {
      if (const auto below = PathBelow(from, path)) return JoinPath(to, *below);
    }
    for (const std::string& gone : gone_) {
      if (PathBelow(gone, path)) return absl::NotFoundError("no such path");
    }
    return path;
  }

  absl::StatusOr<BtrfsPath> Inspect(const std::string& path) override {
    const Mount* mount = mounts_.MountOf(path);
    if (mount->type != "btrfs") return absl::UnimplementedError("not on btrfs");
    BtrfsPath facts;
    facts.uuid = Uuid(static_cast<uint8_t>(std::stoi(mount->device.substr(2))));
    facts.subvolume_id = 5;
    facts.inode = std::hash<std::string>()(*mounts_.PathInFilesystem(path));
    facts.is_directory = std::find(files_.begin(), files_.end(), path) == files_.end();
    facts.read_only_mount = mount->read_only;
    return facts;
  }

 private:
  const MountTable& mounts_;
  std::map<std::string, std::string> links_;
  std::vector<std::string> gone_;
  std::vector<std::string> files_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_FAKE_PATHS_H_
