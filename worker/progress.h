// Progress: what a run has done so far, for whoever watches. The worker writes, any thread reads.

#ifndef ONEFOLD_WORKER_PROGRESS_H_
#define ONEFOLD_WORKER_PROGRESS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "common/mutex.h"

namespace onefold {

// Thread-safe. Counters only grow within a run.
struct Progress {
  enum class Phase { kStarting, kScanning, kPlanning, kDeduping, kSettling, kDone };

  std::atomic<Phase> phase{Phase::kStarting};
  // Bytes of data whose checksums were looked at, of the filesystem's used data.
  std::atomic<int64_t> scan_bytes_done{0};
  std::atomic<int64_t> scan_bytes_total{0};
  std::atomic<int64_t> extents_scanned{0};
  // On-disk bytes of extents that were decided on (and, if so, deduped), of those the plan offers.
  std::atomic<int64_t> plan_bytes_done{0};
  std::atomic<int64_t> plan_bytes_total{0};
  // On-disk bytes of extents all of whose references were moved so far. What is really gone is only
  // known after a commit; the final report has that figure.
  std::atomic<int64_t> moved_bytes{0};
  std::atomic<int64_t> dedupe_requests{0};
  std::atomic<int64_t> file_bytes_read{0};
  // Which of how many volumes is being worked on, from 1.
  std::atomic<int> volume_index{0};
  std::atomic<int> volume_count{0};

  // Mount path of the volume that is being worked on (raw bytes).
  void SetVolume(std::string mount) {
    MutexLock lock(&mutex_);
    mount_ = std::move(mount);
  }
  std::string volume() {
    MutexLock lock(&mutex_);
    return mount_;
  }

 private:
  Mutex mutex_;
  std::string mount_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_PROGRESS_H_
