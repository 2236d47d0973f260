// TreeWalk: all files below the roots, by reading directories: what a volume without its trees has
// instead of them. No symlink is followed and no mount point crossed; subvolumes that lie below are
// walked. What may not be read is named and left out, the rest goes on.
//
// Looks at names and inodes only. Used once, by one thread.

#ifndef ONEFOLD_WORKER_TREE_WALK_H_
#define ONEFOLD_WORKER_TREE_WALK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/run_report.h"
#include "common/stop.h"
#include "worker/exclude.h"
#include "worker/extent_view.h"
#include "worker/fd_file.h"
#include "worker/walk_files.h"

namespace onefold {

// An open root.
struct WalkRoot {
  std::string path;  // absolute, for excludes and people
  Fd directory;      // the root, or the directory it lies in if it is a file
  std::string file;  // its name there; empty if the root is a directory
};

class TreeWalk {
 public:
  // All arguments must outlive this object.
  TreeWalk(const std::vector<WalkRoot>& roots, const ExcludeList& excludes,
           const FileLimits& limits, StopSignal& stop, std::function<void(Problem)> problem);

  // CANCELLED when stopped.
  absl::StatusOr<WalkFiles> Run();

 private:
  void ReadDirectory(uint32_t number);
  // An entry of the open directory `parent`, whose path is `path`.
  void AddEntry(int parent, uint32_t number, const std::string& path, const char* name,
                unsigned char type);
  void AddFile(int parent, uint32_t number, const char* name);
  bool IsExcluded(uint32_t directory, const std::string& path, bool is_directory) const;
  std::string AbsolutePath(uint32_t directory, const std::string& path) const;
  void NoteError(uint32_t directory, const std::string& path, int error);

  const std::vector<WalkRoot>& roots_;
  const ExcludeList& excludes_;
  const FileLimits& limits_;
  StopSignal& stop_;
  const std::function<void(Problem)> problem_;
  WalkFiles found_;
  std::vector<uint64_t> device_;  // st_dev of each directory's parent, then its own
};

// The word for what kept a file or directory from being looked at, as reports have it.
Problem AccessProblem(std::string path, int error);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TREE_WALK_H_
