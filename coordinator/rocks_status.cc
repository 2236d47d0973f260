#include "coordinator/rocks_status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onefold::index {
namespace {

// Has no own code in RocksDB 7.8.
bool IsDenied(const rocksdb::Status& status) {
  return status.IsIOError() && absl::StrContains(status.ToString(), "ermission denied");
}

// A quota or a limit on the size of files: there is no more room than on a full disk.
bool IsLimited(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return status.IsIOError() && (absl::StrContains(text, "Disk quota exceeded") ||
                                absl::StrContains(text, "File too large"));
}

}  // namespace

absl::Status FromRocksStatus(const rocksdb::Status& status, const std::string& directory) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat(directory, ": ", status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(absl::StrCat("disk full: ", message));
  if (IsLimited(status)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no more may be written (a quota, or ulimit -f): ", message));
  }
  if (status.IsCorruption()) return absl::DataLossError(message);
  if (IsDenied(status)) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

absl::Status FromRocksOpenStatus(const rocksdb::Status& status, const std::string& directory) {
  const absl::Status result = FromRocksStatus(status, directory);
  const bool damaged = absl::IsUnavailable(result) &&
                       !absl::StrContains(result.message(), "Too many open files") &&
                       !absl::StrContains(result.message(), "annot allocate memory");
  return damaged ? absl::DataLossError(result.message()) : result;
}

}  // namespace onefold::index
