#include "coordinator/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace onefold::index {
namespace {

constexpr char kFormatFile[] = "ONEFOLD_FORMAT";
constexpr char kUnfinished[] = ".new";
constexpr size_t kSmallFileBytesMax = 256;

absl::Status FromErrno(absl::string_view what, const std::string& path) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat("disk full: ", path));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
}

// The beginning of a file; nullopt if it is absent.
absl::StatusOr<std::optional<std::string>> ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) return FromErrno("opening", path);
  std::string text(kSmallFileBytesMax, '\0');
  const ssize_t bytes = read(fd, text.data(), text.size());
  const absl::Status status = bytes < 0 ? FromErrno("reading", path) : absl::OkStatus();
  close(fd);
  RETURN_IF_ERROR(status);
  text.resize(static_cast<size_t>(bytes));
  return text;
}

absl::Status SyncPath(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FromErrno("opening", path);
  const absl::Status status = fsync(fd) < 0 ? FromErrno("syncing", path) : absl::OkStatus();
  close(fd);
  return status;
}

// Durable, and never half there.
absl::Status WriteSmallFile(const std::string& path, const std::string& text) {
  const std::string unfinished = path + kUnfinished;
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return FromErrno("making", unfinished);
  absl::Status status;
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || fsync(fd) < 0) {
    status = FromErrno("writing", unfinished);
  }
  close(fd);
  RETURN_IF_ERROR(status);
  if (rename(unfinished.c_str(), path.c_str()) < 0) return FromErrno("renaming", unfinished);
  return SyncPath(std::filesystem::path(path).parent_path().string());
}

absl::Status Foreign(const std::string& directory, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(directory, " ", why,
                   "; nothing was changed. Name another state directory, or move this away"));
}

absl::StatusOr<bool> IsAbsentOrEmpty(const std::string& directory) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(directory, error);
  if (status.type() == std::filesystem::file_type::not_found) return true;
  if (!std::filesystem::is_directory(status)) return Foreign(directory, "is no directory");
  std::filesystem::directory_iterator entries(directory, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    // Our first file, cut off while it was made.
    if (entries->path().filename() != absl::StrCat(kFormatFile, kUnfinished)) return false;
  }
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("reading ", directory));
  return true;
}

// Removes what earlier PutAside left: one damaged index is enough to look into, and each may be
// large.
void RemoveAside(const std::string& directory, const std::string& keep) {
  const std::filesystem::path path(directory);
  const std::string stem = absl::StrCat(path.filename().string(), ".damaged-");
  std::vector<std::filesystem::path> old;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(path.parent_path(), ignored), end;
       !ignored && entry != end; entry.increment(ignored)) {
    if (absl::StartsWith(entry->path().filename().string(), stem) && entry->path() != keep &&
        std::filesystem::exists(entry->path() / kFormatFile, ignored)) {
      old.push_back(entry->path());
    }
  }
  for (const std::filesystem::path& aside : old) std::filesystem::remove_all(aside, ignored);
}

// Somebody else's directory, /etc say, does not get our files among its own.
absl::Status CheckIsOurs(const std::string& directory) {
  std::error_code error;
  for (const char* database : {"state", "index"}) {
    const std::filesystem::path format = std::filesystem::path(directory) / database / kFormatFile;
    if (std::filesystem::exists(format, error)) return absl::OkStatus();
  }
  std::filesystem::directory_iterator entries(directory, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name != "lock" && name != "state" && name != "index" && name != "identity" &&
        name != "lost+found" && !absl::StartsWith(name, "index.damaged-")) {
      return Foreign(directory, "is in use for something else");
    }
  }
  return error ? absl::ErrnoToStatus(error.value(), absl::StrCat("reading ", directory))
               : absl::OkStatus();
}

}  // namespace

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const std::string& directory) {
  const std::string path = directory + "/lock";
  DirectoryLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.fd_ < 0) return FromErrno("opening", path);
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) < 0) {
    if (errno != EWOULDBLOCK) return FromErrno("locking", path);
    ASSIGN_OR_RETURN(const std::optional<std::string> pid, ReadSmallFile(path));
    return absl::FailedPreconditionError(absl::StrCat(
        directory, " is in use by process ", absl::StripAsciiWhitespace(pid.value_or("?")),
        ": wait until it has ended, or name another state directory"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(lock.fd_, 0) < 0 ||
      pwrite(lock.fd_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return FromErrno("writing", path);
  }
  return lock;
}

absl::Status MakeStateDirectory(const std::string& directory) {
  std::error_code ignored;  // mkdir below says what is wrong
  const std::filesystem::path path = std::filesystem::absolute(directory, ignored);
  std::filesystem::create_directories(path.parent_path(), ignored);
  if (mkdir(directory.c_str(), 0700) < 0 && errno != EEXIST) return FromErrno("making", directory);
  if (!std::filesystem::is_directory(directory, ignored)) {
    return absl::FailedPreconditionError(absl::StrCat(directory, " is no directory"));
  }
  return CheckIsOurs(directory);
}

absl::Status CheckDatabaseDirectory(const std::string& directory, absl::string_view kind,
                                    int version) {
  ASSIGN_OR_RETURN(const bool absent_or_empty, IsAbsentOrEmpty(directory));
  if (absent_or_empty) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<std::string> format,
                   ReadSmallFile(directory + "/" + kFormatFile));
  if (!format)
    return Foreign(directory, absl::StrCat("holds something else (no ", kFormatFile, ")"));
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(*format), ' ');
  int found = 0;
  if (words.size() != 3 || words[0] != "onefold" || words[1] != kind ||
      !absl::SimpleAtoi(words[2], &found) || found < 1) {
    std::error_code ignored;
    // Beside the files of a database of ours the format file of ours was torn.
    if (!absl::StartsWith(*format, "onefold ") &&
        std::filesystem::exists(directory + "/CURRENT", ignored)) {
      return absl::DataLossError(absl::StrCat(directory, "/", kFormatFile, " is damaged"));
    }
    return Foreign(directory, absl::StrCat("holds something else (by its ", kFormatFile, ")"));
  }
  if (found > version) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory, " was written by a newer onefold (format ", found, ", this one knows ", version,
        "); nothing was changed. Install that version again, or name another state directory"));
  }
  return absl::OkStatus();
}

absl::Status MakeDatabaseDirectory(const std::string& directory, absl::string_view kind,
                                   int version) {
  if (mkdir(directory.c_str(), 0700) < 0 && errno != EEXIST) return FromErrno("making", directory);
  const std::string path = directory + "/" + kFormatFile;
  ASSIGN_OR_RETURN(const std::optional<std::string> format, ReadSmallFile(path));
  if (format) return absl::OkStatus();
  return WriteSmallFile(path, absl::StrCat("onefold ", kind, " ", version, "\n"));
}

absl::StatusOr<std::string> PutAside(const std::string& directory, absl::Time now) {
  const std::string stem = absl::StrCat(
      directory, ".damaged-", absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone()));
  std::string name = stem;
  for (int i = 2; access(name.c_str(), F_OK) == 0; ++i) name = absl::StrCat(stem, "-", i);
  if (rename(directory.c_str(), name.c_str()) < 0) return FromErrno("renaming", directory);
  RemoveAside(directory, name);
  return name;
}

}  // namespace onefold::index
