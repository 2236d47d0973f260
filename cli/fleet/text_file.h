// Configuration files, read and replaced.

#ifndef ONEFOLD_CLI_FLEET_TEXT_FILE_H_
#define ONEFOLD_CLI_FLEET_TEXT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onefold {

// Empty if the file is absent. FAILED_PRECONDITION: no regular file, or over 1 MiB.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

// Replaces the file in one step, or makes it (mode 0644, folders too). Owner and mode of one that
// is there stay; a symbolic link stays one.
absl::Status ReplaceTextFile(const std::string& path, const std::string& text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_TEXT_FILE_H_
