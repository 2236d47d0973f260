// ScanUpload: takes the fingerprints of a scan into the index.
//
// Rows are gathered into runs of kRowsPerRun and written run by run: big sorted batches are what
// the store takes cheapest. A thread writes one run while the next is gathered, so the worker does
// not stand still during the fsyncs. The cursor moves in the same batch as the rows, so it never
// promises a row that is not there; rows ahead of it are recognised when they are sent again.
//
// Not thread-safe. An upload that is destroyed without End leaves what was written, and a place to
// resume at.

#ifndef ONEFOLD_COORDINATOR_SCAN_UPLOAD_H_
#define ONEFOLD_COORDINATOR_SCAN_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "coordinator/ordered_store.h"
#include "coordinator/rows.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

// About 3 MB of rows, twice while one run is written. Anchors count as rows.
inline constexpr size_t kRowsPerRun = 32768;

class ScanUpload {
 public:
  struct Options {
    uint64_t incarnation = 0;
    // The cursor moves there when the upload ends.
    int64_t target_generation = 0;
  };
  struct Progress {
    uint64_t durable_below = 0;  // blocks
    int64_t new_count = 0;       // rows the index did not have
  };

  // `store` and `volume` must outlive the upload.
  ScanUpload(const OrderedStore& store, Volume& volume, Options options);
  ~ScanUpload();

  // Adds rows with distinct addresses. Everything below `complete_below` (blocks) has been added
  // then; 0 leaves that as it was. May wait for the run before to be written, and returns its
  // error.
  absl::Status Add(std::vector<Extent> rows, uint64_t complete_below);

  // Writes what is left and moves the cursor. All is durable when it returns.
  absl::Status End();

  // What is durable now.
  Progress progress() const;

 private:
  struct Run {
    std::vector<Extent> rows;
    size_t anchor_count = 0;
    uint64_t complete_below = 0;
  };

  // Hands the gathered rows to the thread; waits while it is busy.
  absl::Status HandOver();
  void WriteRuns();
  absl::Status WaitUntilIdle();
  absl::Status WriteRun(Run run, bool ends);
  absl::Status ApplyRun(const Run& run, bool ends, VolumeRecord& record, RowBatch& batch,
                        int64_t& new_count);

  const OrderedStore& store_;
  Volume& volume_;
  const Options options_;
  // Whether new extents are looked for inside old ones by their anchors: not on a first scan, which
  // is followed by a full pass.
  bool match_anchors_ = false;
  Run gathered_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  Run handed_over_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  Progress progress_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;  // started with the first full run
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_SCAN_UPLOAD_H_
