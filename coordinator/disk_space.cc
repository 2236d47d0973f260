#include "coordinator/disk_space.h"

#include <sys/statvfs.h>

#include "absl/strings/str_cat.h"

namespace onefold::index {

absl::Status CheckFreeSpace(const std::string& directory, int64_t free_bytes_min) {
  struct statvfs space;
  if (free_bytes_min <= 0 || ::statvfs(directory.c_str(), &space) != 0) return absl::OkStatus();
  const auto free_bytes =
      static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
  if (free_bytes >= free_bytes_min) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("disk full: less than ", free_bytes_min >> 20,
                                                   " MiB are free below ", directory));
}

}  // namespace onefold::index
