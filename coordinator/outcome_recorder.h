// Outcomes on their way into the index: results of a batch, the end of a plan, and outcomes that
// are reconsidered. All functions are atomic in each batch they write, durable when they return,
// and harmless to repeat. Thread-safe.

#ifndef ONEFOLD_COORDINATOR_OUTCOME_RECORDER_H_
#define ONEFOLD_COORDINATOR_OUTCOME_RECORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/ordered_store.h"
#include "coordinator/volume_book.h"
#include "onefold/v1/plan.pb.h"

namespace onefold::index {

struct ExtentResult {
  uint64_t address = 0;
  uint64_t generation = 0;
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  v1::Holder holder = v1::HOLDER_UNSPECIFIED;
};

// Records the results of one batch in one write. Results for extents that are gone or of another
// generation are ignored; of several for one extent the last one counts.
absl::Status RecordResults(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                           std::vector<ExtentResult> results);

// What the worker says when it has worked through a plan.
struct PlanEnd {
  bool whole = false;
  bool inside = false;
  uint64_t scope_digest = 0;
  uint64_t subvolume_set_digest = 0;
  bool inside_done = false;
};

// Takes what the plan covered out of the queue, and matches that are settled.
absl::Status EndPlan(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                     const PlanEnd& end);

// What outcomes depend on, as the worker sees it now.
struct Circumstances {
  uint64_t scope_digest = 0;
  uint64_t subvolume_set_digest = 0;
  bool run_begins = false;
};

// Queues outcomes again that depend on what has changed since they were recorded: all of them when
// the scope did, pinned ones when the set of subvolumes did, and when a run begins those that flags
// of files hold.
absl::Status Reconsider(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                        const Circumstances& now);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_OUTCOME_RECORDER_H_
