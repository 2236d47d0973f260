// BtrfsVolume: a Volume on a mounted btrfs.

#ifndef ONEFOLD_WORKER_BTRFS_VOLUME_H_
#define ONEFOLD_WORKER_BTRFS_VOLUME_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/volume.h"

namespace onefold {

// `path`: any file or directory on a writable mount of the filesystem; every file is opened through
// that mount.
//
// UNIMPLEMENTED      not btrfs, or a kernel without the calls that are needed.
// PERMISSION_DENIED  CAP_SYS_ADMIN or CAP_DAC_READ_SEARCH is missing.
absl::StatusOr<std::unique_ptr<Volume>> OpenBtrfsVolume(const std::string& path);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_VOLUME_H_
