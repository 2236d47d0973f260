#include "cli/fleet/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr size_t kTextBytesMax = 1024 * 1024;
constexpr mode_t kModeOfNewFiles = 0644;

absl::Status FromErrno(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

// Owner and mode of the file that is replaced, as far as we may.
absl::Status TakeAfter(const std::string& path, int fd) {
  struct stat info = {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && fchown(fd, info.st_uid, info.st_gid) < 0 && errno != EPERM) return FromErrno(path);
  const mode_t mode = exists ? info.st_mode & 07777 : kModeOfNewFiles;
  return fchmod(fd, mode) < 0 ? FromErrno(path) : absl::OkStatus();
}

absl::Status WriteTo(int fd, const std::string& path, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t bytes = write(fd, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return FromErrno(path);
    done += static_cast<size_t>(bytes);
  }
  return fsync(fd) < 0 ? FromErrno(path) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::string();
  if (fd < 0) return FromErrno(path);
  struct stat info = {};
  std::string text;
  absl::Status status;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) ||
      info.st_size > static_cast<off_t>(kTextBytesMax)) {
    status = absl::FailedPreconditionError(absl::StrCat(path, " is no text file"));
  } else {
    text.resize(static_cast<size_t>(info.st_size));
    const ssize_t bytes = read(fd, text.data(), text.size());
    if (bytes < 0) status = FromErrno(path);
    if (bytes >= 0) text.resize(static_cast<size_t>(bytes));
  }
  close(fd);
  RETURN_IF_ERROR(status);
  return text;
}

absl::Status ReplaceTextFile(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  if (error) return absl::ErrnoToStatus(error.value(), path);
  std::filesystem::create_directories(real.parent_path(), error);
  const std::string unfinished = absl::StrCat(real.string(), ".onefold-new");
  unlink(unfinished.c_str());
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FromErrno(unfinished);
  absl::Status status = TakeAfter(real.string(), fd);
  if (status.ok()) status = WriteTo(fd, unfinished, text);
  close(fd);
  if (status.ok() && rename(unfinished.c_str(), real.c_str()) < 0) status = FromErrno(path);
  if (!status.ok()) unlink(unfinished.c_str());
  return status;
}

}  // namespace onefold
