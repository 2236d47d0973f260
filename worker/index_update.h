// IndexUpdate: brings the coordinator's index of a volume up to date: new extents, extents whose
// checksums came later, deletions, and windows that meet heads.
//
// Not thread-safe.

#ifndef ONEFOLD_WORKER_INDEX_UPDATE_H_
#define ONEFOLD_WORKER_INDEX_UPDATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/stop.h"
#include "worker/coordinator_client.h"
#include "worker/operation_gate.h"
#include "worker/progress.h"
#include "worker/scanner.h"
#include "worker/volume.h"

namespace onefold {

class IndexUpdate {
 public:
  // All arguments must outlive this object. `gate`: may hold it up; nullptr: nothing does.
  IndexUpdate(Volume& volume, CoordinatorClient& coordinator, StopSignal& stop, Progress& progress,
              OperationGate* gate = nullptr);

  // Uploads extents that are newer than `order` says, up to `target_generation` (a committed one).
  // CANCELLED when stopped: the cursor did not move, what was acknowledged is kept.
  absl::Status Scan(const VolumeOrder& order, int64_t target_generation);

  // Tells the coordinator which extents there are, so that it forgets the others.
  absl::Status Sweep();

  // Streams windows of extents newer than `generation` past the heads: of all extents if 0 (a full
  // pass).
  absl::Status StreamWindows(int64_t generation);

  const IndexTotals& totals() const { return totals_; }
  int64_t extents_scanned() const { return extents_scanned_; }
  int64_t bytes_scanned() const { return bytes_scanned_; }
  int64_t blocks_scanned() const { return blocks_scanned_; }

 private:
  // Uploads extents in `range` newer than `generation`.
  absl::Status ScanRange(AddressRange range, int64_t generation, ChecksumReader& checksums,
                         ExtentUpload& upload);
  // Looks again at extents whose checksums were missing and may have come.
  absl::Status Recheck(int64_t generation, ChecksumReader& checksums, ExtentUpload& upload);
  // Between extents: waits while it is held up. False: it is to stop.
  bool GoesOn();
  absl::Status AddExtent(const ScannedExtent& extent, ChecksumReader& checksums,
                         ExtentUpload& upload);

  Volume& volume_;
  CoordinatorClient& coordinator_;
  StopSignal& stop_;
  Progress& progress_;
  OperationGate* const gate_;
  int64_t extents_seen_ = 0;
  Fingerprint fingerprint_;
  std::string buffer_;
  IndexTotals totals_;
  int64_t extents_scanned_ = 0;
  int64_t bytes_scanned_ = 0;
  int64_t blocks_scanned_ = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_INDEX_UPDATE_H_
