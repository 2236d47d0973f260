// Small files that nobody else may read: keys and what belongs to them.

#ifndef ONEFOLD_COMMON_IDENTITY_PRIVATE_FILE_H_
#define ONEFOLD_COMMON_IDENTITY_PRIVATE_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold::identity {

inline constexpr size_t kPrivateFileBytesMax = 256 * 1024;

// Makes the directory with mode 0700, and those above it as far as they are absent. One that exists
// must not be writable by others.
//
// FAILED_PRECONDITION: it is no directory, or others may write in it.
absl::Status MakePrivateDirectory(const std::string& directory);

// Replaces `path` by a file of mode 0600 with these contents: durable when it returns OK, and never
// half there. Who reads meanwhile sees the old or the new one. Made by root, it belongs to whom its
// directory belongs.
//
// RESOURCE_EXHAUSTED: the disk is full; the old file is still there.
absl::Status WritePrivateFile(const std::string& path, absl::string_view contents);

// The contents; nullopt if it is absent.
//
// FAILED_PRECONDITION  others may read or write it, it is no regular file (a symlink, say), or it
//                      is longer than kPrivateFileBytesMax; the message says what to do.
absl::StatusOr<std::optional<std::string>> ReadPrivateFile(const std::string& path);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_PRIVATE_FILE_H_
