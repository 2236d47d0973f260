// Small files that are read and replaced as a whole: never half there, durable when written.

#ifndef ONEFOLD_COMMON_SMALL_FILE_H_
#define ONEFOLD_COMMON_SMALL_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onefold {

// The whole file.
//
// NOT_FOUND         there is none.
// OUT_OF_RANGE      it has more than `bytes_max`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t bytes_max);

// Replaces (or makes) the file with mode 0600, by way of `path`.new.
//
// RESOURCE_EXHAUSTED  the disk is full; the old file is still there.
absl::Status WriteSmallFile(const std::string& path, const std::string& bytes);

// Removes the file; OK if there is none.
absl::Status RemoveSmallFile(const std::string& path);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_SMALL_FILE_H_
