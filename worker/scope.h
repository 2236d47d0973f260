// Scope: which inodes may be touched. The only fence between onefold and files that are none of its
// business: handles ignore mounts and paths.
//
// An inode is in scope if one of its names lies below a root and is not excluded; an excluded name
// does not exclude another one. Directories are resolved upwards through their own INODE_REF items
// and, at the top of a subvolume, through its ROOT_BACKREF; verdicts are cached. Nothing walks
// downwards.
//
// Thread-safe; no lock is held over an ioctl.

#ifndef ONEFOLD_WORKER_SCOPE_H_
#define ONEFOLD_WORKER_SCOPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "worker/btrfs_items.h"
#include "worker/exclude.h"
#include "worker/volume.h"

namespace onefold {

// One path below which files may be touched.
struct ScopeRoot {
  std::string path;  // as resolved, absolute; raw bytes
  uint64_t subvolume_id = 0;
  uint64_t inode = 0;
};

class Scope {
 public:
  enum class Verdict { kInside, kOutside, kExcluded };

  struct Answer {
    Verdict verdict = Verdict::kOutside;
    size_t pattern = 0;  // which one excluded it
    // A directory could not be read: not inside as far as is known.
    absl::Status error = absl::OkStatus();
  };

  // All arguments must outlive this object.
  Scope(Volume& volume, const std::vector<ScopeRoot>& roots, const ExcludeList& excludes);

  // `links`: the names of `file`. A name outside counts for nothing; if none is inside and one is
  // excluded, the answer is kExcluded.
  Answer Check(const InodeId& file, absl::Span<const InodeLink> links);

  // A path of `file` for people: the first name in scope; otherwise "inode N of subvolume M".
  std::string PathOf(const InodeId& file, absl::Span<const InodeLink> links);

  // Whether any file of the subvolume can be in scope.
  bool Reaches(uint64_t subvolume);

 private:
  struct Directory {
    Verdict verdict = Verdict::kOutside;
    size_t pattern = 0;
    std::string path;                       // absolute, of a directory inside
    size_t root_bytes = 0;                  // how much of `path` is the root's own
    absl::Status error = absl::OkStatus();  // why it is not known
  };

  Directory Find(const InodeId& directory);
  std::optional<Directory> Known(const InodeId& directory);
  // The parent directory and the name in it; nullopt at the top of the filesystem.
  absl::StatusOr<std::optional<std::pair<InodeId, std::string>>> ParentOf(const InodeId& directory);
  // What `parent` says about its entry `name`.
  Directory Below(const Directory& parent, const std::string& name, bool is_directory) const;

  Volume& volume_;
  const std::vector<ScopeRoot>& roots_;
  const ExcludeList& excludes_;

  Mutex mutex_;
  absl::flat_hash_map<InodeId, Directory> directories_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_SCOPE_H_
