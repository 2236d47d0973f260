#include "common/identity/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"

namespace onefold::identity {
namespace {

constexpr char kUnfinished[] = ".new";
constexpr mode_t kOthersMayRead = 0077;
constexpr mode_t kOthersMayWrite = 0022;

absl::Status FromErrno(absl::string_view what, const std::string& path) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat("disk full: ", path));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

std::string DirectoryOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

absl::Status SyncDirectory(const std::string& path) {
  const std::string directory = DirectoryOf(path);
  const Descriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) < 0) return FromErrno("syncing", directory);
  return absl::OkStatus();
}

// A service that runs as a user of its own must be able to read what root has set up for it.
absl::Status GiveToOwnerOf(const std::string& directory, int fd, const std::string& path) {
  if (geteuid() != 0) return absl::OkStatus();
  struct stat info = {};
  if (stat(directory.c_str(), &info) < 0) return FromErrno("looking at", directory);
  return fchown(fd, info.st_uid, info.st_gid) < 0 ? FromErrno("giving away", path)
                                                  : absl::OkStatus();
}

absl::Status WriteAll(int fd, absl::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno("writing", path);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakePrivateDirectory(const std::string& directory) {
  std::error_code ignored;  // mkdir below says what is wrong
  const std::filesystem::path path = std::filesystem::absolute(directory, ignored);
  std::filesystem::create_directories(path.parent_path(), ignored);
  if (mkdir(directory.c_str(), 0700) == 0) return SyncDirectory(path.string());
  if (errno != EEXIST) return FromErrno("making", directory);
  struct stat info = {};
  if (stat(directory.c_str(), &info) < 0) return FromErrno("looking at", directory);
  if (!S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(directory, " is no directory"));
  }
  if ((info.st_mode & kOthersMayWrite) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory, " may be written by others, and keys are to lie in it: chmod 0700 ", directory));
  }
  return absl::OkStatus();
}

absl::Status WritePrivateFile(const std::string& path, absl::string_view contents) {
  const std::string unfinished = path + kUnfinished;
  // What an earlier attempt left may have another mode, or be a link that leads elsewhere.
  if (unlink(unfinished.c_str()) < 0 && errno != ENOENT) return FromErrno("removing", unfinished);
  const Descriptor fd(
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd.get() < 0) return FromErrno("making", unfinished);
  absl::Status status = GiveToOwnerOf(DirectoryOf(path), fd.get(), unfinished);
  if (status.ok()) status = WriteAll(fd.get(), contents, unfinished);
  if (status.ok() && fsync(fd.get()) < 0) status = FromErrno("writing", unfinished);
  if (status.ok() && rename(unfinished.c_str(), path.c_str()) < 0) {
    status = FromErrno("renaming", unfinished);
  }
  if (!status.ok()) {
    unlink(unfinished.c_str());
    return status;
  }
  return SyncDirectory(path);
}

absl::StatusOr<std::optional<std::string>> ReadPrivateFile(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.get() < 0 && errno == ENOENT) return std::nullopt;
  if (fd.get() < 0 && errno == ELOOP) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is a symbolic link"));
  }
  if (fd.get() < 0) return FromErrno("opening", path);
  struct stat info = {};
  if (fstat(fd.get(), &info) < 0) return FromErrno("looking at", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no regular file"));
  }
  if ((info.st_mode & kOthersMayRead) != 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s holds a secret, and others may read it (mode %04o): chmod 0600 %s",
                        path, info.st_mode & 07777, path));
  }
  if (info.st_size > static_cast<off_t>(kPrivateFileBytesMax)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is too long for what it should be"));
  }
  std::string contents(kPrivateFileBytesMax, '\0');
  size_t size = 0;
  while (size < contents.size()) {
    const ssize_t bytes = read(fd.get(), contents.data() + size, contents.size() - size);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return FromErrno("reading", path);
    if (bytes == 0) break;
    size += static_cast<size_t>(bytes);
  }
  contents.resize(size);
  return contents;
}

}  // namespace onefold::identity
