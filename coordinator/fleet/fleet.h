// Fleet: hosts, policies and runs of one coordinator, durable in `state`. Workers' calls of Sync
// and people's requests come in here; Tick makes what is due and gives out slots.
//
// A run reaches its host with the answer to the host's next Sync: the coordinator never dials. What
// a call changes is on disk before it returns, and before any other call sees it; when that fails
// (RESOURCE_EXHAUSTED: disk full), nothing has changed.
//
// Thread-safe. The mutex is not held over writes: who changes something durable has a turn, from
// what it reads until its write is applied, and others go on with the books as they are. Reports
// that wait for their turn share one, and so one write: a thousand hosts that tell something new
// at a time cost a few.

#ifndef ONEFOLD_COORDINATOR_FLEET_FLEET_H_
#define ONEFOLD_COORDINATOR_FLEET_FLEET_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/uuid.h"
#include "coordinator/fleet/dispatch.h"
#include "coordinator/fleet/fleet_books.h"
#include "coordinator/ordered_store.h"
#include "onefold/v1/admin_service.pb.h"
#include "onefold/v1/fleet.pb.h"

namespace onefold {

class Fleet {
 public:
  struct Options {
    int64_t runs_at_once = 0;  // in all; 0: no limit
    // Of policies that name none.
    absl::TimeZone time_zone = absl::LocalTimeZone();
    // How long a lease lasts that is not renewed: a silent host has stopped by then.
    absl::Duration lease_ttl = absl::Minutes(5);
    uint64_t jitter_seed = 1;
    // On-disk bytes of the volume that wait for an outcome, as its index says; nullopt if there is
    // none. Called under the fleet's lock; must not call the fleet.
    std::function<std::optional<int64_t>(const VolumeUuid&)> waiting_bytes = {};
  };

  struct SyncAnswer {
    std::vector<v1::RunOrder> orders;
    absl::Duration sync_delay;
    std::vector<std::string> advice;
  };

  // Reads what is there. `state` and `clock` must outlive the fleet. DATA_LOSS: it is damaged.
  static absl::StatusOr<std::unique_ptr<Fleet>> Open(Options options, index::OrderedStore& state,
                                                     Clock& clock);

  // Sentences for people about what was noticed while opening.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // ---- workers ----

  // Takes a host's report. `host_id` is who calls, as its certificate says. Repeatable.
  //
  // INVALID_ARGUMENT: the report is malformed.
  absl::StatusOr<SyncAnswer> HandleSync(const std::string& host_id, const std::string& version,
                                        const v1::HostReport& report);

  // Whether the host may have a lease of the volume: it has a run there. FAILED_PRECONDITION.
  absl::Status MayLease(absl::string_view host_id, const VolumeUuid& volume) const;
  // Whether the volume is the host's, so that it may speak of it. PERMISSION_DENIED.
  absl::Status MaySpeakOf(absl::string_view host_id, const VolumeUuid& volume) const;

  // ---- time ----

  // Makes runs that are due and gives out slots; to be called about once a second. Writes only when
  // something changes.
  absl::Status Tick();

  // ---- people ----

  std::vector<v1::Host> ListHosts() const;  // by name
  absl::StatusOr<v1::Host> SetDrained(absl::string_view host, bool drained);
  // Forgets it; its runs end. The caller revokes its certificate.
  absl::StatusOr<v1::Host> ForgetHost(absl::string_view host);
  absl::StatusOr<v1::Host> FindHost(absl::string_view host) const;

  absl::StatusOr<v1::ApplyPoliciesResponse> ApplyPolicies(absl::string_view yaml, bool dry_run);
  std::vector<v1::Policy> ListPolicies() const;  // by name
  absl::Status DeletePolicy(absl::string_view name);

  absl::StatusOr<v1::StartRunsResponse> StartRuns(const v1::StartRunsRequest& request);
  absl::StatusOr<v1::Run> CancelRun(absl::string_view run_id);
  absl::StatusOr<v1::Run> PauseRun(absl::string_view run_id);
  absl::StatusOr<v1::Run> ResumeRun(absl::string_view run_id);
  absl::StatusOr<v1::Run> FindRun(absl::string_view run_id) const;
  // Newest first, those below number `before` (0: all), at most `count`.
  struct NumberedRun {
    int64_t number = 0;
    v1::Run run;
  };
  std::vector<NumberedRun> ListRuns(int64_t before, size_t count, bool active_only) const;
  storage::v1::FleetTotals Totals() const;

  // ---- looking at all of it ----

  // The books at one moment, and views of what is in them.
  class Glance {
   public:
    Glance(const Fleet& fleet, fleet::Instant now) : fleet_(fleet), now_(now) {}
    const fleet::Books& books() const;
    absl::Time now() const { return now_.wall; }
    v1::Host View(const fleet::Host& host) const;
    v1::Run View(const fleet::FleetRun& run) const;
    bool IsSilent(const fleet::Host& host) const;
    // See Options.
    std::optional<int64_t> WaitingBytes(const VolumeUuid& volume) const;
    uint64_t jitter_seed() const { return fleet_.options_.jitter_seed; }

   private:
    const Fleet& fleet_;
    const fleet::Instant now_;
  };
  // `look` must be quick, must not call the fleet, and keeps nothing of the glance.
  void Look(absl::FunctionRef<void(const Glance&)> look) const;

  // What was kept of a volume (or of all together: uuid 0) from hour `first` to `last` since 1970,
  // by hour. Only hours at which something had changed have a row.
  struct HistoryRow {
    int64_t hour = 0;
    storage::v1::HistoryRecord record;
  };
  absl::StatusOr<std::vector<HistoryRow>> History(const VolumeUuid& volume, int64_t first,
                                                  int64_t last) const;

 private:
  using Books = fleet::Books;
  using Changes = fleet::Changes;
  using FleetRun = fleet::FleetRun;
  using Instant = fleet::Instant;
  using OwnedVolume = fleet::OwnedVolume;

  Fleet(Options options, index::OrderedStore& state, Clock& clock)
      : options_(std::move(options)), state_(state), clock_(clock) {}

  Instant Now() const { return {.wall = clock_.Now(), .steady = clock_.Monotonic()}; }
  // A host calls every so often; large fleets less often, so that an idle one costs little.
  absl::Duration IdleDelay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  fleet::DispatchRules Rules() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Held by one call at a time, in the order they came: only it makes durable changes. Made and
  // ended with the mutex held, which it lets go while it waits.
  class Turn {
   public:
    explicit Turn(Fleet& fleet) ABSL_EXCLUSIVE_LOCKS_REQUIRED(fleet.mutex_);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Fleet& fleet_;
  };

  // Writes, then applies. Nothing happens if the write fails. The caller has the turn. Lets the
  // mutex go while it writes; pointers into the books end.
  absl::Status Commit(Changes changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // What a report changes, on top of `staged`, of which it only may change what nobody else does.
  using Compute = absl::FunctionRef<absl::StatusOr<Changes>(const Changes& staged)>;
  struct Pending {
    Compute compute;
    std::optional<absl::Status> status;  // what became of it
  };
  // Makes these changes: at once if nothing of it is durable, else together with what waits. May
  // let the mutex go.
  absl::Status Take(Compute compute) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes what waits, but for reports that change the same as earlier ones. The caller has the
  // turn.
  void TakePending() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Sync, in this order.
  absl::StatusOr<Changes> HostChanges(const std::string& host_id, const std::string& version,
                                      const v1::HostReport& report, Instant now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Changes RunChanges(const std::string& host_id, const v1::HostReport& report, Instant now,
                     const Changes& staged) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<v1::RunOrder> OrdersFor(const std::string& host_id, const v1::HostReport& report,
                                      Instant now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Tick, in this order.
  absl::Status ReleaseSilent(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeDueRuns(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status GiveSlots(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Once an hour: what has changed since. Days that are over a week old keep one row.
  absl::Status KeepHistory(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // A run that waits, not yet among the changes' runs. Numbers follow each other within `changes`.
  FleetRun& AddRun(const OwnedVolume& volume, std::shared_ptr<const fleet::Policy> rules,
                   absl::Time now, Changes& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a run of the volume is expected to free, by what earlier ones found and what waits.
  std::optional<int64_t> ExpectedGain(const VolumeUuid& volume) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a result that is new in `after`. `staged`: sums that count already.
  void CountResult(const FleetRun& before, const FleetRun& after, const Changes& staged,
                   Changes& changes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const fleet::Policy> RulesByHand(const OwnedVolume& volume) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::vector<OwnedVolume>> Select(const v1::StartRunsRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StageStart(const OwnedVolume& volume, const v1::StartRunsRequest& request, absl::Time now,
                  Changes& changes, std::vector<int64_t>& started)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  v1::Host ViewHost(const fleet::Host& host, Instant now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::Run ViewRun(const FleetRun& run, Instant now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  index::OrderedStore& state_;
  Clock& clock_;
  std::vector<std::string> warnings_;  // not changed after Open

  mutable Mutex mutex_;
  Books books_ ABSL_GUARDED_BY(mutex_);  // as on disk
  // Who has the turn, and who waits for it.
  std::deque<const void*> turns_ ABSL_GUARDED_BY(mutex_);
  std::deque<Pending*> pending_ ABSL_GUARDED_BY(mutex_);
  CondVar turned_;
  // When schedules must be looked at again; past: hosts or policies changed.
  absl::Time next_due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time last_tick_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int64_t history_hour_ ABSL_GUARDED_BY(mutex_) = 0;  // the last one that was looked at
  // The last row of each volume, serialised.
  std::map<VolumeUuid, std::string> history_rows_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_FLEET_FLEET_H_
