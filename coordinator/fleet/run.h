// FleetRun: one run of one volume, from its making to its recorded end, and what reports of workers
// do to it. Plain values and pure functions.
//
//   WAITING ──started by Dispatch──▶ RUNNING ──reported──▶ COMPLETED, INCOMPLETE, CANCELLED, FAILED
//      ▲ ▲                            │  │
//      │ └─ window over, host drained ┘  └─ a person wants it held ──▶ PAUSED ──resume──▶ WAITING
//      └─── host silent longer than its leases last
//
// RUNNING means: it has a slot and its host is told to work on it, whether or not that host has
// called since. Only then a lease is given.

#ifndef ONEFOLD_COORDINATOR_FLEET_RUN_H_
#define ONEFOLD_COORDINATOR_FLEET_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "coordinator/fleet/policy.h"
#include "onefold/storage/v1/fleet.pb.h"
#include "onefold/v1/fleet.pb.h"

namespace onefold::fleet {

// What a person wants of a run. Numbers are stored.
enum class Wish : int32_t { kNone = 0, kPause = 1, kCancel = 2 };

struct FleetRun {
  int64_t number = 0;  // grows with each run; the key it is kept under
  VolumeUuid volume;
  storage::v1::FleetRunRecord record;
  std::shared_ptr<const Policy> rules =
      {};  // shared with the policy book and other runs; may be null

  // Not kept: what the worker said last, and why it waits.
  v1::RunStatus live = {};
  std::string waits_for = {};

  v1::RunState state() const { return static_cast<v1::RunState>(record.state()); }
  Wish wish() const { return static_cast<Wish>(record.wish()); }
  const std::string& id() const { return record.run_id(); }
  void set_state(v1::RunState state) { record.set_state(state); }
  void set_wish(Wish wish) { record.set_wish(static_cast<int32_t>(wish)); }
  bool ended() const;
};

// COMPLETED and all that follow.
bool IsEnded(v1::RunState state);

// Ends the run, whatever it was. A result is taken over from `status` if it has one.
void EndRun(FleetRun& run, v1::RunState state, const v1::RunStatus& status, absl::Time now);
// The same without a worker's word.
void EndRun(FleetRun& run, v1::RunState state, absl::string_view message, absl::Time now);

// The run stopped before its end: it waits, is held, or is cancelled, as a person wished.
void StopRun(FleetRun& run, const v1::RunStatus& status, absl::Time now);

// What the host that has the run says of it. `stop_wanted`: the host was told to stop it. Says
// whether something durable changed.
bool TakeReport(FleetRun& run, const v1::RunStatus& status, bool stop_wanted, absl::Time now);
// The host says nothing of it: it never heard of it, or was restarted.
bool TakeSilence(FleetRun& run, bool stop_wanted, absl::Time now);

// Bounded in size; unset stays unset.
storage::v1::FleetRunResult ToResult(const v1::RunStatus& status);
v1::RunStatus ToStatus(const storage::v1::FleetRunRecord& record);

// INVALID_ARGUMENT: beyond the bounds.
absl::Status CheckRunStatus(const v1::RunStatus& status);

// Adds the result of a run to the sums; runs that only measured do not count.
void AddToTotals(const storage::v1::FleetRunRecord& run, storage::v1::FleetTotals& totals);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_RUN_H_
