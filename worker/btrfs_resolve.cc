#include "worker/btrfs_resolve.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "worker/btrfs_errno.h"
#include "worker/open_below.h"
#include "worker/xfs_facts.h"

namespace onefold {
absl::StatusOr<BtrfsPath> InspectBtrfsPath(const std::string& path) {
  struct stat before;
  if (::lstat(path.c_str(), &before) != 0) return StatusFromErrno(errno, "looking at it");
  // Opening anything else may block, or wake a device.
  if (!S_ISDIR(before.st_mode) && !S_ISREG(before.st_mode)) {
    return absl::InvalidArgumentError("neither a directory nor a regular file");
  }
  const Fd opened = OpenResolved(path, O_RDONLY);
  const int fd = opened.get();
  if (fd < 0) return StatusFromErrno(errno, "opening it");

  struct stat status;
  struct statvfs filesystem;
  if (::fstat(fd, &status) != 0 || ::fstatvfs(fd, &filesystem) != 0) {
    return StatusFromErrno(errno, "looking at it");
  }
  BtrfsPath result;
  result.inode = status.st_ino;
  result.is_directory = S_ISDIR(status.st_mode);
  result.read_only_mount = (filesystem.f_flag & ST_RDONLY) != 0;
  const absl::StatusOr<BtrfsSubvolume> subvolume = InspectSubvolume(fd);
  if (subvolume.ok()) {
    result.uuid = subvolume->uuid;
    result.subvolume_id = subvolume->id;
    return result;
  }
  if (!absl::IsUnimplemented(subvolume.status())) return subvolume.status();
  const absl::StatusOr<XfsFacts> xfs = ReadXfsFacts(fd);
  if (absl::IsUnimplemented(xfs.status())) return subvolume.status();
  if (!xfs.ok()) return xfs.status();
  if (!xfs->can_share) {
    return absl::UnimplementedError("this XFS was made without reflink (xfs_info shows reflink=0)");
  }
  result.uuid = xfs->uuid;
  result.is_xfs = true;
  return result;
}

absl::StatusOr<BtrfsSubvolume> InspectSubvolume(int fd) {
  btrfs_ioctl_fs_info_args info = {};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
    // Other filesystems know no such call; some answer EINVAL.
    if (errno == ENOTTY || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS) {
      return absl::UnimplementedError(kNotBtrfs);
    }
    return StatusFromErrno(errno, "asking for its filesystem");
  }
  btrfs_ioctl_ino_lookup_args lookup = {};
  lookup.objectid = BTRFS_FIRST_FREE_OBJECTID;  // the one question that needs no privilege
  if (::ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) != 0) {
    return StatusFromErrno(errno, "asking for its subvolume");
  }
  BtrfsSubvolume subvolume;
  static_assert(sizeof(info.fsid) == sizeof(subvolume.uuid.bytes));
  std::copy(std::begin(info.fsid), std::end(info.fsid), subvolume.uuid.bytes.begin());
  subvolume.id = lookup.treeid;
  // Answered at the top of a subvolume only.
  uint64_t flags = 0;
  if (::ioctl(fd, BTRFS_IOC_SUBVOL_GETFLAGS, &flags) == 0) {
    subvolume.read_only = (flags & BTRFS_SUBVOL_RDONLY) != 0;
  }
  return subvolume;
}

absl::StatusOr<uint32_t> BtrfsBlockBytes(int fd) {
  btrfs_ioctl_fs_info_args info = {};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
    return StatusFromErrno(errno, "asking for its filesystem");
  }
  return info.sectorsize;
}

}  // namespace onefold
