// What the kernel says of one path of a btrfs filesystem: which filesystem, subvolume and inode it
// is.

#ifndef ONEFOLD_WORKER_BTRFS_RESOLVE_H_
#define ONEFOLD_WORKER_BTRFS_RESOLVE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/uuid.h"

namespace onefold {

struct BtrfsPath {
  // Of the filesystem; statfs's f_fsid and st_dev differ from one subvolume to the next.
  VolumeUuid uuid;
  uint64_t subvolume_id = 0;
  uint64_t inode = 0;
  bool is_directory = false;
  // The mount it is reached through, or the whole filesystem: dedupe would answer EROFS. A
  // read-only subvolume is not meant: it can be deduped.
  bool read_only_mount = false;
  // Not btrfs but XFS, which shares data too and has no subvolumes (the number is 0).
  bool is_xfs = false;
};

// The message of UNIMPLEMENTED on other filesystems.
inline constexpr char kNotBtrfs[] = "not on btrfs";

// Looks at `path`, which is resolved (no symlink). Changes nothing, not even its access time.
//
// NOT_FOUND           there is nothing (any more).
// PERMISSION_DENIED   it cannot be opened.
// INVALID_ARGUMENT    neither a directory nor a regular file.
// UNIMPLEMENTED       not on btrfs, nor on an XFS that can share data; the message is "not on
// btrfs"
//                     or says what that XFS lacks.
absl::StatusOr<BtrfsPath> InspectBtrfsPath(const std::string& path);

// The filesystem and subvolume of an open directory; no privilege needed.
struct BtrfsSubvolume {
  VolumeUuid uuid;
  uint64_t id = 0;
  bool read_only = false;
};
// UNIMPLEMENTED: not on btrfs.
absl::StatusOr<BtrfsSubvolume> InspectSubvolume(int fd);

// Sector size of the btrfs that an open file lies on.
absl::StatusOr<uint32_t> BtrfsBlockBytes(int fd);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_RESOLVE_H_
