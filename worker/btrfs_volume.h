// BtrfsVolume: a Volume on a mounted btrfs.

#ifndef ONEFOLD_WORKER_BTRFS_VOLUME_H_
#define ONEFOLD_WORKER_BTRFS_VOLUME_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/volume.h"

namespace onefold {

// kChanging takes the filesystem for one run as long as the Volume lives: of two that dedupe at a
// time, each would count what the other moved. By flock on the top-level directory, so it is seen
// from containers and other mounts too.
enum class Access { kLooking, kChanging };

// `path`: any file or directory on a writable mount of the filesystem; every file is opened through
// that mount.
//
// UNAVAILABLE        another run is changing the filesystem.
// UNIMPLEMENTED      not btrfs, or a kernel without the calls that are needed.
// PERMISSION_DENIED  CAP_SYS_ADMIN or CAP_DAC_READ_SEARCH is missing.
absl::StatusOr<std::unique_ptr<Volume>> OpenBtrfsVolume(const std::string& path, Access access);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_VOLUME_H_
