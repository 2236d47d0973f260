// MountTable: what /proc/self/mountinfo says, and the questions the scope of a run asks of it:
// which filesystem is a path on, where in that filesystem, what else is mounted below, where else
// is it mounted.
//
// Paths are raw bytes, absolute and resolved (no symlinks). Immutable, so thread-safe.

#ifndef ONEFOLD_WORKER_MOUNTS_H_
#define ONEFOLD_WORKER_MOUNTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct Mount {
  int id = 0;
  int parent = 0;
  // "0:42". Equal for all mounts of one filesystem, whatever subvolume they show (unlike st_dev).
  std::string device;
  std::string root;        // the directory of the filesystem that is mounted: "/@home" of a btrfs
  std::string point;       // where
  std::string type;        // "btrfs"
  bool read_only = false;  // this mount or the whole filesystem
};

class MountTable {
 public:
  // What this process sees. NOT_FOUND, PERMISSION_DENIED… if /proc is not there.
  static absl::StatusOr<MountTable> Read();
  // The text of a mountinfo file (proc(5)); lines that cannot be understood are left out.
  static MountTable Parse(absl::string_view text);

  // The mount that `path` is on, not one that is hidden below another; nullptr if not known.
  // Points into this table.
  const Mount* MountOf(absl::string_view path) const;

  // Mounts that can be reached at a path below `path` (not at `path` itself).
  std::vector<const Mount*> MountsBelow(absl::string_view path) const;

  // Where `path` lies within its filesystem, from the top: "/@home/eva" for "/home/eva". The same
  // file has the same answer whatever mount it is seen through. nullopt if the mount is not known.
  std::optional<std::string> PathInFilesystem(absl::string_view path) const;

  // The reverse: every absolute path at which the directory `path_in_filesystem` of the filesystem
  // `device` can be reached.
  std::vector<std::string> PathsTo(absl::string_view device, absl::string_view path_in_filesystem,
                                   bool writable_only) const;

  const std::vector<Mount>& mounts() const { return mounts_; }

 private:
  std::vector<Mount> mounts_;
  std::multimap<int, size_t> children_;  // mount id → indexes of mounts on it
  std::vector<size_t> tops_;             // mounts on nothing that we see
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_MOUNTS_H_
