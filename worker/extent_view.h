// ExtentView: one extent with all its references, as they are now, each judged against the scope.
// What the planner of the worker (settle_*.h) decides on.

#ifndef ONEFOLD_WORKER_EXTENT_VIEW_H_
#define ONEFOLD_WORKER_EXTENT_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/btrfs_items.h"
#include "worker/outcome.h"
#include "worker/scope.h"
#include "worker/subvolumes.h"
#include "worker/volume.h"

namespace onefold {

// More references than this are not looked at: such an extent is pinned (too many references). A
// look-up costs about 4.5 µs each, and moving them as many calls.
inline constexpr int64_t kReferencesMax = 20000;

// Reference::excluded_by of files outside the size limits.
inline constexpr int kExcludedBySize = -2;

// Options that decide which files may be touched, beside the scope.
struct FileLimits {
  int64_t min_file_bytes = 0;
  int64_t max_file_bytes = 0;  // 0: none
  bool skip_readonly_subvolumes = false;
};

// A file extent item that refers to an extent. Bytes; `extent_offset` and `length` count
// uncompressed data.
struct Reference {
  InodeId file;
  int64_t file_offset = 0;
  int64_t extent_offset = 0;
  int64_t length = 0;
  int64_t file_bytes = 0;  // size of the file
  bool preallocated = false;
  bool in_readonly_subvolume = false;
  // May be read from: a regular file in scope.
  bool is_source = false;
  // Why it may not be moved; kNone: it may.
  Holder holder = Holder::kNone;
  // Which pattern excluded it, or kExcludedBySize; -1 if nothing did.
  int excluded_by = -1;

  int64_t extent_end() const { return extent_offset + length; }
  int64_t file_end() const { return file_offset + length; }
};

struct ExtentView {
  uint64_t address = 0;
  int64_t disk_bytes = 0;
  uint64_t generation = 0;
  uint64_t item_references = 0;  // of the extent item: leaves that refer to it
  uint8_t compression = 0;
  int64_t ram_bytes = 0;
  std::vector<Reference> references;
  // Set when the references could not be listed (too many).
  Holder holder = Holder::kNone;
  // A reference vanished while it was looked at: nothing can be decided now.
  bool changed = false;

  bool compressed() const { return compression != 0; }
  // The first reason why not every reference may be moved; kNone if all may.
  Holder FirstHolder() const;
  bool HasSource() const;
};

class ViewCache;

// Not thread-safe (it caches inodes); one per thread.
class ExtentViewer {
 public:
  // All arguments must outlive this object. `cache`, if any, is shared with other viewers.
  ExtentViewer(Volume& volume, Scope& scope, Subvolumes& subvolumes, const FileLimits& limits,
               ViewCache* cache = nullptr);

  // nullopt: no extent of that generation (any, if 0) begins there any more, or nothing refers to
  // it.
  absl::StatusOr<std::optional<ExtentView>> View(uint64_t address, uint64_t generation);

  // The file extents of `file` that begin at `offset` or later, until `visit(file offset, extent)`
  // returns false. A file that is gone has none.
  absl::Status ForEachFileExtent(const InodeId& file, int64_t offset,
                                 const std::function<bool(int64_t, const FileExtent&)>& visit);

  // A path for people.
  std::string PathOf(const InodeId& file);

  // Size of the file; nullopt if it is gone.
  std::optional<int64_t> FileBytes(const InodeId& file);

  // Whether every reference is asked for. Otherwise an extent whose item names one file, in a leaf
  // that no snapshot shares, is taken at its word: that costs a fraction, but misses what was added
  // since the last commit and snapshots taken since the subvolumes were listed. What is missed
  // shows when the extent is still there after the run.
  void AskForAllReferences(bool all) { ask_for_all_ = all; }

  // Extents that are always asked about: those that got references since the last commit.
  void AskAbout(const absl::flat_hash_set<uint64_t>* addresses) { ask_about_ = addresses; }

  // Forgets cached inodes and views, so that all is checked on what is there now.
  void Forget();

 private:
  struct Inode {
    bool found = false;
    absl::Status error;  // of the look-up, other than that it is gone
    InodeItem item;
    std::vector<InodeLink> links;
    Scope::Answer scope;
  };

  absl::StatusOr<std::optional<ExtentView>> LookAt(uint64_t address, uint64_t generation);
  // The inode, and its extent item at `file_offset` if that was met on the way.
  const Inode& FindInode(const InodeId& file, int64_t file_offset,
                         std::optional<FileExtent>& extent);
  absl::Status FindFileExtent(const InodeId& file, int64_t file_offset,
                              std::optional<FileExtent>& extent);
  // The only reference, as the extent item tells it; false if it does not, or not for certain.
  absl::StatusOr<bool> ViewOnlyReference(const ExtentItem& item, ExtentView& view);
  // Judges one reference; false if it does not refer to the extent at `address` any more.
  absl::StatusOr<bool> ViewReference(const RawReference& raw, ExtentView& view);

  Volume& volume_;
  Scope& scope_;
  Subvolumes& subvolumes_;
  const FileLimits limits_;
  ViewCache* const cache_;
  bool ask_for_all_ = false;
  const absl::flat_hash_set<uint64_t>* ask_about_ = nullptr;
  absl::flat_hash_map<InodeId, Inode> inodes_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_EXTENT_VIEW_H_
