// WalkFiles: the directories and files that a walk met, by number, with what tells whether a file
// changed. Compact: 64 bytes a file and its name.
//
// Pure. Not thread-safe while somebody adds.

#ifndef ONEFOLD_WORKER_WALK_FILES_H_
#define ONEFOLD_WORKER_WALK_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "worker/volume.h"

namespace onefold {

// What a file is known by: as long as all of it is as before, its content is.
struct FileIdentity {
  uint64_t subvolume = 0;  // 0 where there are none
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t modified_ns = 0;  // mtime
  int64_t changed_ns = 0;   // ctime
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct WalkFile {
  FileIdentity identity;
  uint32_t directory = 0;
  uint32_t name_length = 0;
  uint64_t name_at = 0;
  bool immutable = false;  // or append-only
};

class WalkFiles {
 public:
  struct Directory {
    uint32_t parent = 0;  // itself, for a root
    uint32_t root = 0;
    uint32_t name_length = 0;
    uint64_t name_at = 0;
    uint64_t subvolume = 0;
  };

  // The next root, number 0, 1, …: a directory, or the directory in which a file lies that is a
  // root itself. Roots are added first.
  uint32_t AddRoot(uint64_t subvolume);
  uint32_t AddDirectory(uint32_t parent, absl::string_view name, uint64_t subvolume);
  void AddFile(uint32_t directory, absl::string_view name, const FileIdentity& identity,
               bool immutable);
  void SetSubvolume(uint32_t directory, uint64_t subvolume) {
    directories_[directory].subvolume = subvolume;
  }
  // Brings files into the order of their inodes, which is about that on disk. Numbers change.
  void SortFiles();

  const std::vector<Directory>& directories() const { return directories_; }
  const std::vector<WalkFile>& files() const { return files_; }
  absl::string_view NameOf(const Directory& directory) const {
    return absl::string_view(names_).substr(directory.name_at, directory.name_length);
  }
  absl::string_view NameOf(const WalkFile& file) const {
    return absl::string_view(names_).substr(file.name_at, file.name_length);
  }

  // From the root down, without leading slash; "" for a root.
  std::string PathOfDirectory(uint32_t directory) const;
  std::string PathOf(const WalkFile& file) const;
  // Whose root `file` lies below.
  uint32_t RootOf(const WalkFile& file) const { return directories_[file.directory].root; }

 private:
  uint64_t AddName(absl::string_view name);

  std::vector<Directory> directories_;
  std::vector<WalkFile> files_;
  std::string names_;
};

// How the rest of the worker calls them: all in one subvolume, numbered. Good for one run.
namespace walk_id {
inline constexpr uint64_t kRoots = 257;  // behind the number that btrfs gives a top directory
inline constexpr uint64_t kDirectories = uint64_t{1} << 32;
inline constexpr uint64_t kFiles = uint64_t{1} << 48;
InodeId OfDirectory(uint32_t directory, size_t root_count);
InodeId OfFile(uint32_t file);
}  // namespace walk_id

}  // namespace onefold

#endif  // ONEFOLD_WORKER_WALK_FILES_H_
