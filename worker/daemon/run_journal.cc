#include "worker/daemon/run_journal.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/small_file.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr char kSuffix[] = ".run";
// An order of the largest size that is taken, and its problems.
constexpr size_t kRunBytesMax = 16 << 20;

}  // namespace

// Identities are the coordinator's: as hexadecimal digits they are no path.
std::string FileRunJournal::PathOf(const std::string& run_id) const {
  return absl::StrCat(directory_, "/", absl::BytesToHexString(run_id), kSuffix);
}

absl::Status FileRunJournal::Write(const storage::v1::WorkerRun& run) {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", Escape(directory_)));
  }
  return WriteSmallFile(PathOf(run.order().run_id()), run.SerializeAsString());
}

absl::Status FileRunJournal::Erase(const std::string& run_id) {
  return RemoveSmallFile(PathOf(run_id));
}

absl::StatusOr<std::vector<storage::v1::WorkerRun>> FileRunJournal::ReadAll() {
  std::vector<storage::v1::WorkerRun> runs;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error);
  if (error == std::errc::no_such_file_or_directory) return runs;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!absl::EndsWith(path, kSuffix)) continue;
    const absl::StatusOr<std::string> bytes = ReadSmallFile(path, kRunBytesMax);
    storage::v1::WorkerRun run;
    if (bytes.ok() && run.ParseFromString(*bytes) && PathOf(run.order().run_id()) == path) {
      runs.push_back(std::move(run));
    }
  }
  if (error)
    return absl::ErrnoToStatus(error.value(), absl::StrCat("reading ", Escape(directory_)));
  return runs;
}

}  // namespace onefold
