// ExtentLedger: adds and removes extents with all rows that derive from them, and keeps the
// counters of the volume's record in step. It is the only code that knows which rows belong to an
// extent.
//
// One ledger serves one Volume::Update. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_EXTENT_LEDGER_H_
#define ONEFOLD_COORDINATOR_EXTENT_LEDGER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/ordered_store.h"
#include "coordinator/sorted_reader.h"
#include "coordinator/volume_book.h"
#include "onefold/v1/plan.pb.h"

namespace onefold::index {

class ExtentLedger {
 public:
  // All must outlive the ledger. `store` is read as it was before the batch.
  ExtentLedger(const OrderedStore& store, VolumeRecord& record, RowBatch& batch)
      : store_(store), record_(record), batch_(batch), volume_(NumberOf(record)) {}

  // Adds an extent whose address is free, and queues it if it has a digest.
  void Insert(const Extent& extent);

  // Removes an extent and everything that derives from it.
  absl::Status Erase(const IndexedExtent& extent);

  // Records the outcome of an extent. Recording it again changes nothing.
  absl::Status Settle(const IndexedExtent& extent, v1::Outcome outcome, v1::Holder holder);

  // Puts an extent whose outcome is `row` back into the queue.
  void Requeue(uint64_t address, const OutcomeRow& row);

  // Takes a row W that has been worked through out of the queue.
  void Unqueue(uint64_t address);

 private:
  void CountExtent(const Extent& extent, int sign);
  void CountOutcome(const OutcomeRow& row, int sign);
  void AddToQueue(int64_t queued, int64_t listed);
  void PutWaiting(uint64_t address, const Waiting& waiting);
  void PutExtent(const Extent& extent);

  void LeaveQueue(const IndexedExtent& extent);
  void Keep(const IndexedExtent& extent);
  absl::Status Hold(const IndexedExtent& extent, const OutcomeRow& row);
  absl::Status Retry(const IndexedExtent& extent);
  absl::Status DropOutcome(const Extent& extent);
  absl::Status DropMatches(uint64_t query);

  const OrderedStore& store_;
  VolumeRecord& record_;
  RowBatch& batch_;
  const VolumeNumber volume_;
  std::unique_ptr<StoreCursor> matches_;  // made when needed
};

// Rows F of an extent: one or two.
struct FingerprintRow {
  FingerprintKey key;
  Fingerprint value;
};
std::vector<FingerprintRow> FingerprintRows(const Extent& extent);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_EXTENT_LEDGER_H_
