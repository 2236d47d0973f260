// Books: all that is known of a fleet, in memory; Changes: what is to become different, written as
// one batch and applied only then, so that a full disk changes nothing in memory either.
//
// Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_FLEET_FLEET_BOOKS_H_
#define ONEFOLD_COORDINATOR_FLEET_FLEET_BOOKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "coordinator/fleet/host_book.h"
#include "coordinator/fleet/policy.h"
#include "coordinator/fleet/run_book.h"
#include "coordinator/ordered_store.h"
#include "coordinator/row_batch.h"

namespace onefold::fleet {

using PolicyMap = std::map<std::string, std::shared_ptr<const Policy>, std::less<>>;
// A policy's schedule for one volume → what was due until then had its run.
using DueKey = std::pair<std::string, VolumeUuid>;
using DueMap = std::map<DueKey, absl::Time>;

struct Books {
  HostBook hosts;
  PolicyMap policies;
  DueMap answered;
  RunBook runs;
  storage::v1::FleetTotals totals;
  std::map<VolumeUuid, storage::v1::FleetTotals> volume_totals;
};

struct Changes {
  HostBook::Change hosts;
  PolicyMap policies;  // null deletes
  std::map<DueKey, std::optional<absl::Time>> answered;
  std::map<int64_t, FleetRun> runs;
  std::set<int64_t> erased_runs;
  std::optional<storage::v1::FleetTotals> totals;
  std::map<VolumeUuid, storage::v1::FleetTotals> volume_totals;
  std::map<int64_t, v1::RunStatus> live;  // what workers say of runs that go on; not kept

  // The run as it will be: the changed one, or a copy to change.
  FleetRun& Edit(const FleetRun& run);
};

// The rows that make the changes durable; empty if nothing needs to be.
index::RowBatch ToRows(const Changes& changes);
void Apply(Changes changes, Books& books);

// Whether each could have been made without the other, as far as hosts, volumes, schedules and runs
// go: so two reports, both made from the same books, may be written together. (The second one's
// sums are on top of the first one's.)
bool AreDisjoint(const Changes& a, const Changes& b);
// Adds what is disjoint.
void Merge(Changes more, Changes& into);

// Reads everything. Policies that this program no longer understands are left on disk, left out of
// the books and told in `warnings`; their runs end as failed.
//
// DATA_LOSS: a record is damaged.
absl::StatusOr<Books> LoadBooks(const index::OrderedStore& state, absl::TimeZone default_zone,
                                absl::Duration steady_now, std::vector<std::string>& warnings);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_FLEET_BOOKS_H_
