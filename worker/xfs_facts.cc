#include "worker/xfs_facts.h"

#include <sys/ioctl.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

// struct xfs_fsop_geom_v4 of fs/xfs/libxfs/xfs_fs.h, which is in no package that the build needs.
struct XfsGeometry {
  uint32_t blocksize, rtextsize, agblocks, agcount, logblocks, sectsize, inodesize, imaxpct;
  uint64_t datablocks, rtblocks, rtextents, logstart;
  unsigned char uuid[16];
  uint32_t sunit, swidth;
  int32_t version;
  uint32_t flags, logsectsize, rtsectsize, dirblocksize, logsunit;
};
static_assert(sizeof(XfsGeometry) == 112);
constexpr unsigned long kGetGeometry = _IOR('X', 124, XfsGeometry);
constexpr uint32_t kReflink = 1u << 20;
constexpr long kXfsMagic = 0x58465342;  // "XFSB"

}  // namespace

absl::StatusOr<XfsFacts> ReadXfsFacts(int fd) {
  struct statfs filesystem;
  if (fstatfs(fd, &filesystem) != 0) return StatusFromErrno(errno, "asking for its filesystem");
  if (filesystem.f_type != kXfsMagic) return absl::UnimplementedError("not on XFS");
  XfsGeometry geometry = {};
  if (ioctl(fd, kGetGeometry, &geometry) != 0) {
    return StatusFromErrno(errno, "asking for the filesystem's geometry");
  }
  XfsFacts facts;
  facts.block_bytes = geometry.blocksize;
  facts.can_share = (geometry.flags & kReflink) != 0;
  static_assert(sizeof(geometry.uuid) == sizeof(facts.uuid.bytes));
  std::copy(std::begin(geometry.uuid), std::end(geometry.uuid), facts.uuid.bytes.begin());
  return facts;
}

}  // namespace onefold
