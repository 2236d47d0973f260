// Free space below a directory, so that a database can refuse in time: RocksDB copes badly with a
// disk that is full to the last byte.

#ifndef ONEFOLD_COORDINATOR_DISK_SPACE_H_
#define ONEFOLD_COORDINATOR_DISK_SPACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace onefold::index {

// RESOURCE_EXHAUSTED: less than `free_bytes_min` are free for ordinary users of the filesystem. OK
// if that cannot be told.
absl::Status CheckFreeSpace(const std::string& directory, int64_t free_bytes_min);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_DISK_SPACE_H_
