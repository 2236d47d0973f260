// ScanWriter: takes the fingerprints of all scans under way into the index.
//
// Rows are gathered into runs of a few ten thousand and written run by run: big sorted batches are
// what the store takes cheapest. All scans share the runs, so that a thousand volumes that are
// scanned at a time bring batches as big, and need as little memory, as one. A thread writes one
// run while the next is gathered, so the workers do not stand still during the fsyncs. The cursor
// of a volume moves in the same batch as its rows, so it never promises a row that is not there;
// rows ahead of it are recognised when they are sent again.

#ifndef ONEFOLD_COORDINATOR_SCAN_WRITER_H_
#define ONEFOLD_COORDINATOR_SCAN_WRITER_H_

#include <cstddef>
#include <cstdint>
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

struct ScanOptions {
  uint64_t incarnation = 0;
  // The cursor moves there when the upload ends.
  int64_t target_generation = 0;
};

struct ScanProgress {
  uint64_t durable_below = 0;  // blocks
  int64_t new_count = 0;       // rows the index did not have
};

// Thread-safe.
class ScanWriter {
 public:
  // `store`, which is that of all volumes, must outlive the writer.
  explicit ScanWriter(OrderedStore& store, size_t rows_per_run = kRowsPerRun)
      : store_(store), rows_per_run_(rows_per_run) {}
  ~ScanWriter();

  // What one scan has brought and is still to be written.
  struct Run {
    std::vector<Extent> rows;
    size_t weight = 0;  // rows and anchors
    uint64_t complete_below = 0;
    bool ends = false;
  };
  // One scan. The writer's own, but for who owns it.
  struct Scan {
    Scan(Volume& of, const ScanOptions& with) : volume(of), options(with) {}

    Volume& volume;
    const ScanOptions options;
    Run gathered;
    bool has_gathered = false;
    bool being_written = false;
    size_t reserved = 0;
    absl::Status status;
    ScanProgress progress;
  };

  // Waits until `weight` more rows and anchors may be brought. The next Add brings them.
  void AwaitRoom(Scan& scan, size_t weight);
  // See ScanUpload.
  absl::Status Add(Scan& scan, std::vector<Extent> rows, uint64_t complete_below);
  absl::Status End(Scan& scan);
  ScanProgress ProgressOf(const Scan& scan) const;
  // Drops what was gathered and not written; waits while something of it is being written.
  void Forget(Scan& scan);

 private:
  // A scan and what of it is being written.
  struct Piece {
    Scan* scan = nullptr;
    Run run;
    int64_t new_count = 0;
  };

  void Reserve(Scan& scan, size_t weight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddGathered(Scan& scan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropGathered(Scan& scan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteRuns();
  std::vector<Piece> TakePieces() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(std::vector<Piece>& pieces, std::vector<absl::Status>& results);
  absl::Status Apply(const Scan& scan, const Run& run, VolumeRecord& record, RowBatch& batch,
                     int64_t& new_count);

  OrderedStore& store_;
  const size_t rows_per_run_;
  mutable Mutex mutex_;
  CondVar work_;     // for the thread
  CondVar changed_;  // for the scans
  // Scans that have gathered something, in the order in which they began to.
  std::vector<Scan*> scans_ ABSL_GUARDED_BY(mutex_);
  // Rows and anchors that are gathered or reserved.
  size_t weight_ ABSL_GUARDED_BY(mutex_) = 0;
  // Somebody waits for room or for the end of a scan.
  bool urgent_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);  // started with the first row
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_SCAN_WRITER_H_
