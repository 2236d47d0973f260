// What an XFS filesystem says of itself to everybody.

#ifndef ONEFOLD_WORKER_XFS_FACTS_H_
#define ONEFOLD_WORKER_XFS_FACTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/uuid.h"

namespace onefold {

struct XfsFacts {
  VolumeUuid uuid;
  uint32_t block_bytes = 0;
  bool can_share = false;  // made with reflink=1, the default since xfsprogs 5.1
};

// `fd`: any file or directory on it. UNIMPLEMENTED: not on XFS.
absl::StatusOr<XfsFacts> ReadXfsFacts(int fd);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_XFS_FACTS_H_
