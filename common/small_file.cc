#include "common/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

absl::Status FromErrno(absl::string_view what, const std::string& path) {
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat("disk full: ", Escape(path)));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", Escape(path)));
}

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno("writing", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(fd) == 0 ? absl::OkStatus() : FromErrno("writing", path);
}

// Makes a rename or removal in the file's directory durable.
absl::Status SyncParent(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FromErrno("opening", parent);
  const absl::Cleanup close_fd = [fd] { ::close(fd); };
  return ::fsync(fd) == 0 ? absl::OkStatus() : FromErrno("syncing", parent);
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return FromErrno("opening", path);
  const absl::Cleanup close_fd = [fd] { ::close(fd); };
  std::string bytes(bytes_max + 1, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno("reading", path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > bytes_max) return absl::OutOfRangeError(absl::StrCat(Escape(path), " is too large"));
  bytes.resize(size);
  return bytes;
}

absl::Status WriteSmallFile(const std::string& path, const std::string& bytes) {
  const std::string unfinished = absl::StrCat(path, ".new");
  const int fd =
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return FromErrno("making", unfinished);
  const absl::Status written = WriteAll(fd, bytes, unfinished);
  ::close(fd);
  if (!written.ok()) ::unlink(unfinished.c_str());
  RETURN_IF_ERROR(written);
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return FromErrno("replacing", path);
  return SyncParent(path);
}

absl::Status RemoveSmallFile(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return SyncParent(path);
  return errno == ENOENT ? absl::OkStatus() : FromErrno("removing", path);
}

}  // namespace onefold
