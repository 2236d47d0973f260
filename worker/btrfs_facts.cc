#include "worker/btrfs_facts.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "common/status_macros.h"
#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

// Kinds of block groups; a filesystem in the middle of a conversion has some of them twice.
constexpr uint64_t kSpacesMax = 64;

absl::StatusOr<int64_t> UsedByData(int fd) {
  std::vector<uint64_t> storage(
      (sizeof(btrfs_ioctl_space_args) + kSpacesMax * sizeof(btrfs_ioctl_space_info)) /
      sizeof(uint64_t));
  auto* args = reinterpret_cast<btrfs_ioctl_space_args*>(storage.data());
  args->space_slots = kSpacesMax;
  if (::ioctl(fd, BTRFS_IOC_SPACE_INFO, args) != 0)
    return StatusFromErrno(errno, "asking for space");
  int64_t used = 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(args->total_spaces, kSpacesMax); ++i) {
    if (args->spaces[i].flags & BTRFS_BLOCK_GROUP_DATA) used += args->spaces[i].used_bytes;
  }
  return used;
}

absl::StatusOr<int64_t> DeviceBytes(int fd) {
  btrfs_ioctl_fs_info_args info = {};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
    if (errno == ENOTTY || errno == EINVAL) return absl::UnimplementedError("not on btrfs");
    return StatusFromErrno(errno, "asking for its filesystem");
  }
  int64_t bytes = 0;
  for (uint64_t id = 0, seen = 0; id <= info.max_id && seen < info.num_devices; ++id) {
    btrfs_ioctl_dev_info_args device = {};
    device.devid = id;
    if (::ioctl(fd, BTRFS_IOC_DEV_INFO, &device) != 0) continue;
    ++seen;
    bytes += device.total_bytes;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<BtrfsFacts> ReadBtrfsFacts(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "opening it");
  const absl::Cleanup close_fd = [fd] { ::close(fd); };
  BtrfsFacts facts;
  ASSIGN_OR_RETURN(facts.size_bytes, DeviceBytes(fd));
  ASSIGN_OR_RETURN(facts.used_bytes, UsedByData(fd));
  char label[BTRFS_LABEL_SIZE + 1] = {};
  if (::ioctl(fd, BTRFS_IOC_GET_FSLABEL, label) == 0) facts.label.assign(label, ::strlen(label));
  return facts;
}

}  // namespace onefold
