#include "worker/btrfs_resolve.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

// Opens `path`, following no symlink in any of its parts: it was resolved a moment ago, and whoever
// can write above it must not lead us elsewhere meanwhile.
int OpenResolved(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  open_how how = {};
  how.flags = kFlags;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
  if (fd >= 0) return static_cast<int>(fd);
  // Linux before 5.6, or a container's filter that does not know the call.
  if (errno == ENOSYS || errno == EPERM) return ::open(path.c_str(), kFlags);
  return -1;
}

}  // namespace

absl::StatusOr<BtrfsPath> InspectBtrfsPath(const std::string& path) {
  struct stat before;
  if (::lstat(path.c_str(), &before) != 0) return StatusFromErrno(errno, "looking at it");
  // Opening anything else may block, or wake a device.
  if (!S_ISDIR(before.st_mode) && !S_ISREG(before.st_mode)) {
    return absl::InvalidArgumentError("neither a directory nor a regular file");
  }
  const int fd = OpenResolved(path);
  if (fd < 0) return StatusFromErrno(errno, "opening it");
  const absl::Cleanup close_fd = [fd] { ::close(fd); };

  struct stat status;
  struct statvfs filesystem;
  if (::fstat(fd, &status) != 0 || ::fstatvfs(fd, &filesystem) != 0) {
    return StatusFromErrno(errno, "looking at it");
  }
  btrfs_ioctl_fs_info_args info = {};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) {
    // Other filesystems know no such call; some answer EINVAL.
    if (errno == ENOTTY || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS) {
      return absl::UnimplementedError("not on btrfs");
    }
    return StatusFromErrno(errno, "asking for its filesystem");
  }
  btrfs_ioctl_ino_lookup_args lookup = {};
  lookup.objectid = BTRFS_FIRST_FREE_OBJECTID;  // the one question that needs no privilege
  if (::ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) != 0) {
    return StatusFromErrno(errno, "asking for its subvolume");
  }
  BtrfsPath result;
  static_assert(sizeof(info.fsid) == sizeof(result.uuid.bytes));
  std::copy(std::begin(info.fsid), std::end(info.fsid), result.uuid.bytes.begin());
  result.subvolume_id = lookup.treeid;
  result.inode = status.st_ino;
  result.is_directory = S_ISDIR(status.st_mode);
  result.read_only_mount = (filesystem.f_flag & ST_RDONLY) != 0;
  return result;
}

}  // namespace onefold
