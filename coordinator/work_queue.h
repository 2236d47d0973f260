// Which extents wait for an outcome. Scanned is not settled: an extent enters the queue in the
// batch that holds its fingerprint and leaves it in the batch that holds its outcome.
//
// The queue has two forms. A volume's first scan queues everything, which one flag in the record
// says (QueueRecord.everything); what is settled says so in its own row. So the first scan writes
// no queue and the end of its plan deletes none. Later, and for what is queued while a plan is
// under way, each waiting extent has a row W.
//
// Epochs tell what a plan has covered. A row W holds the epoch in which it was queued. Fetching a
// plan ends the epoch; when the plan has been worked through, rows of that epoch and earlier ones
// leave the queue, those queued meanwhile stay. "Retry" is nothing but queueing again.
//
// An extent that was kept in a group of whole extents has its answer as far as those go, but may
// still lie inside a bigger one: it waits on for that.
//
// Pure functions.

#ifndef ONEFOLD_COORDINATOR_WORK_QUEUE_H_
#define ONEFOLD_COORDINATOR_WORK_QUEUE_H_

#include <cstdint>

#include "coordinator/sorted_reader.h"
#include "onefold/storage/v1/volume.pb.h"

namespace onefold::index {

using storage::v1::PlanProgress;
using storage::v1::QueueRecord;

// The epoch of everything that the flag queues.
inline constexpr uint64_t kEverythingEpoch = 1;

enum class PlanKind { kWhole, kInside };

const PlanProgress& ProgressOf(const QueueRecord& queue, PlanKind kind);

// Whether `extent` waits for any outcome.
bool IsQueued(const QueueRecord& queue, const IndexedExtent& extent);

// Whether it waits to be matched with whole extents.
bool WaitsForWhole(const QueueRecord& queue, const IndexedExtent& extent);

// Whether what is queued now needs a row W.
bool NeedsRow(const QueueRecord& queue);

// Whether what the flag queues waits for a plan of this kind.
bool FlagWaits(const QueueRecord& queue, PlanKind kind);

// Whether any extent can wait for a plan of this kind.
bool MayWait(const QueueRecord& queue, PlanKind kind);

// A plan is fetched: what is queued from now on belongs to the next one.
void BeginPlan(QueueRecord& queue, PlanKind kind);

// A plan of `whole`, `inside` or both kinds was worked through. Rows W up to the returned epoch
// leave the queue; the flag is taken back here.
uint64_t FinishPlan(QueueRecord& queue, bool whole, bool inside);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_WORK_QUEUE_H_
