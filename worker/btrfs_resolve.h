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
};

// Looks at `path`, which is resolved (no symlink). Changes nothing, not even its access time.
//
// NOT_FOUND           there is nothing (any more).
// PERMISSION_DENIED   it cannot be opened.
// INVALID_ARGUMENT    neither a directory nor a regular file.
// UNIMPLEMENTED       not on btrfs.
absl::StatusOr<BtrfsPath> InspectBtrfsPath(const std::string& path);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_RESOLVE_H_
