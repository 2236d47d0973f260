// WalkReader: the part of a walk that opens files: asks where they lie, and reads what is not known
// yet, each piece once, in the order of the disk, by several threads, leaving the page cache as it
// was.
//
// A file counts only as long as it is the one that was walked: same inode, size and times. One that
// is not any more, or may not be read, is given up: it gets no mappings, and the next walk takes it
// for changed.

#ifndef ONEFOLD_WORKER_WALK_READER_H_
#define ONEFOLD_WORKER_WALK_READER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/run_report.h"
#include "common/stop.h"
#include "worker/fd_file.h"
#include "worker/operation_gate.h"
#include "worker/progress.h"
#include "worker/tree_walk.h"
#include "worker/walk_files.h"
#include "worker/walk_map.h"

namespace onefold {

// An open file of a walk.
class WalkedFile final : public FdFile {
 public:
  WalkedFile(Fd fd, bool may_read, uint32_t number)
      : FdFile(std::move(fd), may_read), number_(number), may_read_(may_read) {}
  uint32_t number() const { return number_; }
  bool may_read() const { return may_read_; }

 private:
  const uint32_t number_;
  const bool may_read_;
};

// Opens file `number`, read-only. `error`: errno; ESTALE if it is not what was walked.
std::unique_ptr<WalkedFile> OpenWalked(const std::vector<WalkRoot>& roots, const WalkFiles& files,
                                       uint32_t number, int& error);
// For people.
std::string WalkedPath(const std::vector<WalkRoot>& roots, const WalkFiles& files, uint32_t number);

class WalkReader {
 public:
  // All arguments must outlive this object. `given_up`: one entry a file, not 0 for those given up.
  WalkReader(const std::vector<WalkRoot>& roots, const WalkFiles& files, uint64_t block_bytes,
             int thread_count, std::vector<uint8_t>& given_up,
             std::function<void(Problem)> problem);

  // Where `numbers` (ascending) lie, sorted by file and offset. Ends early on `stop`.
  std::vector<WalkMapping> Map(absl::Span<const uint32_t> numbers, StopSignal& stop);

  // Reads pieces that were not read yet, until all are, `stop`, or `time` is over. False: some are
  // left that could be read. Those whose files cannot be read are left out.
  bool ReadPieces(WalkMap& map, ChecksumStore& checksums, uint64_t generation, Clock& clock,
                  absl::Duration time, StopSignal& stop, Progress& progress, OperationGate* gate);

  // Files that changed since they were walked.
  int64_t changed_count() const { return changed_count_; }

 private:
  class Worker;

  bool IsGivenUp(uint32_t number);
  void GiveUp(uint32_t number, int error);

  const std::vector<WalkRoot>& roots_;
  const WalkFiles& files_;
  const uint64_t block_bytes_;
  const int thread_count_;
  std::vector<uint8_t>& given_up_;
  std::atomic<int64_t> changed_count_{0};
  Mutex mutex_;
  const std::function<void(Problem)> problem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_WALK_READER_H_
