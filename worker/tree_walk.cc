#include "worker/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/path.h"
#include "worker/btrfs_errno.h"
#include "worker/btrfs_resolve.h"
#include "worker/open_below.h"

namespace onefold {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY;

int64_t Nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

// Directories of others cannot be read without changing their access times, where the mount keeps
// those at all; that is what reading a directory does.
Fd OpenDirectory(int root, const std::string& path) {
  Fd fd = OpenBelow(root, path, kDirectoryFlags | O_NOATIME);
  if (fd.get() < 0 && errno == EPERM) return OpenBelow(root, path, kDirectoryFlags);
  return fd;
}

}  // namespace

Problem AccessProblem(std::string path, int error) {
  if (error == EACCES || error == EPERM) {
    return {.reason = "permission",
            .path = std::move(path),
            .detail = "it may not be read by whoever runs this; run it as root, or as the owner"};
  }
  if (error == EIO || error == EUCLEAN) {
    return {.reason = "read error",
            .path = std::move(path),
            .detail = "the filesystem could not read it; see the kernel's log"};
  }
  return {.reason = "unreadable",
          .path = std::move(path),
          .detail = std::string(StatusFromErrno(error, "opening it").message())};
}

TreeWalk::TreeWalk(const std::vector<WalkRoot>& roots, const ExcludeList& excludes,
                   const FileLimits& limits, StopSignal& stop, std::function<void(Problem)> problem)
    : roots_(roots),
      excludes_(excludes),
      limits_(limits),
      stop_(stop),
      problem_(std::move(problem)) {}

absl::StatusOr<WalkFiles> TreeWalk::Run() {
  for (const WalkRoot& root : roots_) {
    const absl::StatusOr<BtrfsSubvolume> subvolume = InspectSubvolume(root.directory.get());
    found_.AddRoot(subvolume.ok() ? subvolume->id : 0);
    struct stat status = {};
    if (fstat(root.directory.get(), &status) != 0) {
      return StatusFromErrno(errno, absl::StrCat("looking at ", root.path));
    }
    device_.push_back(status.st_dev);
  }
  // Directories are appended while they are read, so each is read after its parent.
  for (uint32_t number = 0; number < found_.directories().size(); ++number) {
    if (stop_.requested()) return absl::CancelledError("stopped");
    if (number < roots_.size() && !roots_[number].file.empty()) {
      AddFile(roots_[number].directory.get(), number, roots_[number].file.c_str());
    } else {
      ReadDirectory(number);
    }
  }
  found_.SortFiles();
  return std::move(found_);
}

std::string TreeWalk::AbsolutePath(uint32_t directory, const std::string& path) const {
  const WalkRoot& root = roots_[found_.directories()[directory].root];
  return root.file.empty() ? JoinPath(root.path, path) : root.path;
}

bool TreeWalk::IsExcluded(uint32_t directory, const std::string& path, bool is_directory) const {
  if (excludes_.empty()) return false;
  return excludes_.Match(path, AbsolutePath(directory, path), is_directory).has_value();
}

void TreeWalk::NoteError(uint32_t directory, const std::string& path, int error) {
  // Gone since it was listed, or replaced by something that is not ours; or a mount point, which is
  // another filesystem or a root of its own.
  if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV) return;
  problem_(AccessProblem(AbsolutePath(directory, path), error));
}

void TreeWalk::ReadDirectory(uint32_t number) {
  const WalkFiles::Directory directory = found_.directories()[number];
  const std::string path = found_.PathOfDirectory(number);
  Fd fd = OpenDirectory(roots_[directory.root].directory.get(), path);
  struct stat status = {};
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) return NoteError(number, path, errno);
  if (status.st_dev != device_[number]) {
    // Another subvolume, or another filesystem that a kernel without openat2 let us into.
    const absl::StatusOr<BtrfsSubvolume> root =
        InspectSubvolume(roots_[directory.root].directory.get());
    const absl::StatusOr<BtrfsSubvolume> here = InspectSubvolume(fd.get());
    if (!root.ok() || !here.ok() || root->uuid != here->uuid) return;
    if (here->read_only && limits_.skip_readonly_subvolumes) return;
    found_.SetSubvolume(number, here->id);
    device_[number] = status.st_dev;
  }
  const int read_from = fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(read_from < 0 ? nullptr : fdopendir(read_from),
                                                    closedir);
  if (listing == nullptr) return NoteError(number, path, errno);
  while (!stop_.requested()) {
    errno = 0;
    const dirent* entry = readdir(listing.get());
    if (entry == nullptr) {
      if (errno != 0) NoteError(number, path, errno);
      return;
    }
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    AddEntry(fd.get(), number, path, entry->d_name, entry->d_type);
  }
}

void TreeWalk::AddEntry(int parent, uint32_t number, const std::string& path, const char* name,
                        unsigned char type) {
  if (type == DT_UNKNOWN) {
    struct stat status = {};
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_CHR;
  }
  if (type != DT_DIR && type != DT_REG) return;
  if (!excludes_.empty() &&
      IsExcluded(number, path.empty() ? name : absl::StrCat(path, "/", name), type == DT_DIR)) {
    return;
  }
  if (type == DT_REG) return AddFile(parent, number, name);
  // Its own device number is looked at when it is read.
  found_.AddDirectory(number, name, found_.directories()[number].subvolume);
  device_.push_back(device_[number]);
}

void TreeWalk::AddFile(int parent, uint32_t number, const char* name) {
  struct statx status = {};
  if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &status) != 0) {
    const std::string path = found_.PathOfDirectory(number);
    return NoteError(number, path.empty() ? name : absl::StrCat(path, "/", name), errno);
  }
  const int64_t bytes = static_cast<int64_t>(status.stx_size);
  if (!S_ISREG(status.stx_mode) || bytes <= 0 || bytes < limits_.min_file_bytes ||
      (limits_.max_file_bytes > 0 && bytes > limits_.max_file_bytes)) {
    return;
  }
  found_.AddFile(number, name,
                 {.subvolume = found_.directories()[number].subvolume,
                  .inode = status.stx_ino,
                  .bytes = bytes,
                  .modified_ns = Nanoseconds(status.stx_mtime),
                  .changed_ns = Nanoseconds(status.stx_ctime)},
                 (status.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0);
}

}  // namespace onefold
