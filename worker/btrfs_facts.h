// What people want to know of a mounted btrfs filesystem: its label and how full it is. Asks for
// nothing that a sleeping disk would have to wake for.

#ifndef ONEFOLD_WORKER_BTRFS_FACTS_H_
#define ONEFOLD_WORKER_BTRFS_FACTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace onefold {

struct BtrfsFacts {
  std::string label;       // raw bytes
  int64_t size_bytes = 0;  // of all devices
  int64_t used_bytes = 0;  // by data, once, whatever the profile
};

// `path`: a directory on the filesystem. Needs no privilege. Errors: see InspectBtrfsPath.
absl::StatusOr<BtrfsFacts> ReadBtrfsFacts(const std::string& path);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_FACTS_H_
