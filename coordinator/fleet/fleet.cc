#include "coordinator/fleet/fleet.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/fleet/due_plan.h"
#include "coordinator/fleet/jitter.h"
#include "coordinator/fleet/limits.h"
#include "coordinator/fleet/run_orders.h"

namespace onefold {
namespace {

using fleet::CheckRunStatus;
using fleet::Host;
using fleet::Policy;
using fleet::Wish;

// All hosts together call at most 20 times a second while nothing happens: 2 % of a core.
constexpr absl::Duration kDelayPerHost = absl::Milliseconds(50);
constexpr absl::Duration kIdleDelayMin = absl::Seconds(5);
constexpr absl::Duration kIdleDelayMax = absl::Seconds(60);
// A host that works tells how far it is.
constexpr absl::Duration kBusyDelay = absl::Seconds(2);
// How long people are told that a volume came from another host.
constexpr absl::Duration kMoveIsNews = absl::Hours(24 * 7);

}  // namespace

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Open(Options options, index::OrderedStore& state,
                                                   Clock& clock) {
  auto fleet = std::unique_ptr<Fleet>(new Fleet(std::move(options), state, clock));
  MutexLock lock(&fleet->mutex_);
  ASSIGN_OR_RETURN(fleet->books_, fleet::LoadBooks(state, fleet->options_.time_zone,
                                                   clock.Monotonic(), fleet->warnings_));
  return fleet;
}

absl::Duration Fleet::IdleDelay() const {
  const auto hosts = static_cast<int64_t>(books_.hosts.hosts().size());
  return std::clamp(hosts * kDelayPerHost, kIdleDelayMin, kIdleDelayMax);
}

fleet::DispatchRules Fleet::Rules() const {
  // Less than a minute is no silence.
  return {.runs_at_once = options_.runs_at_once,
          .silent_after = std::max(3 * IdleDelay(), absl::Minutes(1))};
}

Fleet::Turn::Turn(Fleet& fleet) : fleet_(fleet) {
  fleet.turns_.push_back(this);
  while (fleet.turns_.front() != this) fleet.turned_.Wait(&fleet.mutex_);
}

// The mutex is held: turns end before the lock they began under.
Fleet::Turn::~Turn() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  fleet_.turns_.pop_front();
  fleet_.turned_.NotifyAll();
}

absl::Status Fleet::Commit(Changes changes) {
  const index::RowBatch rows = fleet::ToRows(changes);
  if (!rows.empty()) {
    mutex_.Unlock();
    const absl::Status written = state_.Write(rows);
    mutex_.Lock();
    RETURN_IF_ERROR(written, "recording what changed in the fleet");
  }
  if (changes.hosts.durable || !changes.policies.empty() || !changes.answered.empty()) {
    next_due_ = absl::InfinitePast();
  }
  fleet::Apply(std::move(changes), books_);
  return absl::OkStatus();
}

absl::Status Fleet::Take(Compute compute) {
  ASSIGN_OR_RETURN(Changes changes, compute(Changes()));
  // The books it was made from are still those: the mutex was not let go.
  if (fleet::ToRows(changes).empty()) {
    fleet::Apply(std::move(changes), books_);
    return absl::OkStatus();
  }
  Pending pending{.compute = compute, .status = std::nullopt};
  pending_.push_back(&pending);
  turns_.push_back(&pending);
  while (!pending.status && turns_.front() != &pending) turned_.Wait(&mutex_);
  if (!pending.status) TakePending();  // it is the first of those that wait
  std::erase(turns_, &pending);
  turned_.NotifyAll();
  return *pending.status;
}

void Fleet::TakePending() {
  Changes group;
  std::vector<Pending*> together;
  std::deque<Pending*> later;
  for (Pending* const pending : pending_) {
    absl::StatusOr<Changes> changes = pending->compute(group);
    if (!changes.ok()) {
      pending->status = changes.status();
    } else if (fleet::AreDisjoint(*changes, group)) {
      fleet::Merge(*std::move(changes), group);
      together.push_back(pending);
    } else {
      later.push_back(pending);
    }
  }
  pending_ = std::move(later);  // others come behind them while this is written
  const absl::Status status = Commit(std::move(group));
  for (Pending* const pending : together) pending->status = status;
}

// ---- workers ----

absl::StatusOr<Fleet::SyncAnswer> Fleet::HandleSync(const std::string& host_id,
                                                    const std::string& version,
                                                    const v1::HostReport& report) {
  RETURN_IF_ERROR(fleet::CheckHostReport(host_id, version, report));
  for (const v1::RunStatus& status : report.runs()) RETURN_IF_ERROR(CheckRunStatus(status));
  MutexLock lock(&mutex_);
  const Instant now = Now();
  RETURN_IF_ERROR(Take([&](const Changes&) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return HostChanges(host_id, version, report, now);
  }));
  RETURN_IF_ERROR(Take([&](const Changes& staged) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::StatusOr<Changes>(RunChanges(host_id, report, now, staged));
  }));
  const Host* const host = books_.hosts.Find(host_id);
  if (host == nullptr) return absl::AbortedError("the host was forgotten meanwhile");
  SyncAnswer answer;
  answer.orders = OrdersFor(host_id, report, now);
  answer.sync_delay = IdleDelay();
  for (const v1::RunOrder& order : answer.orders) {
    if (order.action() != v1::RunOrder::ACTION_FORGET) answer.sync_delay = kBusyDelay;
  }
  answer.advice = books_.hosts.Advice(*host, now.wall - kMoveIsNews);
  return answer;
}

absl::StatusOr<Fleet::Changes> Fleet::HostChanges(const std::string& host_id,
                                                  const std::string& version,
                                                  const v1::HostReport& report, Instant now) const {
  const Host* known = books_.hosts.Find(host_id);
  const std::optional<Host> before = known == nullptr ? std::nullopt : std::optional<Host>(*known);
  Changes changes;
  ASSIGN_OR_RETURN(
      changes.hosts,
      books_.hosts.Report(fleet::HostOf(host_id, version, report, before), now.wall, now.steady));
  for (const auto& [uuid, claim] : changes.hosts.claims) {
    if (claim) continue;
    for (const auto& [name, policy] : books_.policies) {
      if (books_.answered.contains({name, uuid})) changes.answered[{name, uuid}] = std::nullopt;
    }
  }
  return changes;
}

Fleet::Changes Fleet::RunChanges(const std::string& host_id, const v1::HostReport& report,
                                 Instant now, const Changes& staged) const {
  Changes changes;
  std::set<int64_t> reported;
  for (const v1::RunStatus& status : report.runs()) {
    const FleetRun* run = books_.runs.Find(status.run_id());
    if (run == nullptr || run->record.host_id() != host_id) continue;
    if (!reported.insert(run->number).second) continue;  // once in a report
    FleetRun next = *run;
    const bool stop = !fleet::StopReason(*run, books_.hosts, now).empty();
    if (!fleet::TakeReport(next, status, stop, now.wall)) {
      changes.live[run->number] = std::move(next.live);
      continue;
    }
    CountResult(*run, next, staged, changes);
    changes.runs[run->number] = std::move(next);
  }
  for (const int64_t number : books_.runs.active()) {
    const FleetRun& run = *books_.runs.Find(number);
    if (run.state() != v1::RUN_STATE_RUNNING || run.record.host_id() != host_id) continue;
    if (reported.contains(number)) continue;
    FleetRun next = run;
    const bool stop = !fleet::StopReason(run, books_.hosts, now).empty();
    if (!fleet::TakeSilence(next, stop, now.wall)) continue;
    CountResult(run, next, staged, changes);
    changes.runs[number] = std::move(next);
  }
  return changes;
}

void Fleet::CountResult(const FleetRun& before, const FleetRun& after, const Changes& staged,
                        Changes& changes) const {
  if (!after.ended()) return;
  storage::v1::FleetTotals totals = changes.totals  ? *changes.totals
                                    : staged.totals ? *staged.totals
                                                    : books_.totals;
  storage::v1::FleetTotals of_volume;
  if (const auto changed = changes.volume_totals.find(after.volume);
      changed != changes.volume_totals.end()) {
    of_volume = changed->second;
  } else if (const auto other = staged.volume_totals.find(after.volume);
             other != staged.volume_totals.end()) {
    of_volume = other->second;
  } else if (const auto known = books_.volume_totals.find(after.volume);
             known != books_.volume_totals.end()) {
    of_volume = known->second;
  }
  if (after.record.has_result()) {
    if (before.record.has_result()) return;
    fleet::AddToTotals(after.record, totals);
    fleet::AddToTotals(after.record, of_volume);
  } else if (after.record.start_unix_seconds() != 0 && !after.record.dry_run()) {
    totals.set_incomplete(true);
    of_volume.set_incomplete(true);
  }
  changes.totals = std::move(totals);
  changes.volume_totals[after.volume] = std::move(of_volume);
}

std::vector<v1::RunOrder> Fleet::OrdersFor(const std::string& host_id, const v1::HostReport& report,
                                           Instant now) const {
  std::vector<v1::RunOrder> orders;
  std::set<std::string> answered;
  for (const int64_t number : books_.runs.active()) {
    const FleetRun& run = *books_.runs.Find(number);
    if (run.state() != v1::RUN_STATE_RUNNING || run.record.host_id() != host_id) continue;
    const bool stop = !fleet::StopReason(run, books_.hosts, now).empty();
    orders.push_back(fleet::OrderFor(run, stop, fleet::TimeLeft(run, now.wall)));
    answered.insert(run.id());
  }
  for (const v1::RunStatus& status : report.runs()) {
    if (!answered.insert(status.run_id()).second) continue;
    const FleetRun* run = books_.runs.Find(status.run_id());
    const bool mine = run != nullptr && run->record.host_id() == host_id;
    orders.push_back(fleet::OrderForReported(status, mine ? run : nullptr));
  }
  return orders;
}

absl::Status Fleet::MayLease(absl::string_view host_id, const VolumeUuid& volume) const {
  MutexLock lock(&mutex_);
  for (const FleetRun* run : books_.runs.ActiveOn(volume)) {
    if (run->state() == v1::RUN_STATE_RUNNING && run->record.host_id() == host_id) {
      return absl::OkStatus();
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat("host ", host_id, " has no run on volume ", ToString(volume)));
}

absl::Status Fleet::MaySpeakOf(absl::string_view host_id, const VolumeUuid& volume) const {
  MutexLock lock(&mutex_);
  const fleet::Claim* claim = books_.hosts.FindClaim(volume);
  if (claim != nullptr && claim->host_id == host_id) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("volume ", ToString(volume), " is not host ", host_id, "'s"));
}

// ---- time ----

absl::Status Fleet::Tick() {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  if (now.wall < last_tick_) next_due_ = absl::InfinitePast();  // the clock was set back
  last_tick_ = now.wall;
  RETURN_IF_ERROR(ReleaseSilent(now));
  RETURN_IF_ERROR(MakeDueRuns(now));
  RETURN_IF_ERROR(GiveSlots(now));
  return KeepHistory(now);
}

absl::Status Fleet::ReleaseSilent(Instant now) {
  const absl::Duration patience = std::max(options_.lease_ttl, Rules().silent_after);
  Changes changes;
  for (const int64_t number : books_.runs.active()) {
    const FleetRun& run = *books_.runs.Find(number);
    if (run.state() != v1::RUN_STATE_RUNNING) continue;
    const Host* host = books_.hosts.Find(run.record.host_id());
    if (host != nullptr && now.steady - host->heard_at <= patience) continue;
    FleetRun next = run;
    if (run.wish() == Wish::kCancel) {
      fleet::EndRun(next, v1::RUN_STATE_CANCELLED, "cancelled while its host was silent", now.wall);
    } else {
      fleet::StopRun(next, run.live, now.wall);
    }
    CountResult(run, next, Changes(), changes);
    changes.runs[number] = std::move(next);
  }
  return Commit(std::move(changes));
}

absl::Status Fleet::MakeDueRuns(Instant now) {
  if (now.wall < next_due_) return absl::OkStatus();
  const fleet::DuePlan plan = fleet::PlanDue(books_, options_.jitter_seed, now.wall);
  Changes changes;
  for (const auto& [key, answered] : plan.answered) changes.answered[key] = answered;
  for (const fleet::DuePlan::Due& due : plan.runs) {
    FleetRun& run = AddRun(due.volume, due.policy, now.wall, changes);
    run.record.set_policy(due.policy->name);
  }
  RETURN_IF_ERROR(Commit(std::move(changes)));
  next_due_ = plan.next;
  return absl::OkStatus();
}

absl::Status Fleet::GiveSlots(Instant now) {
  fleet::DispatchPlan plan = fleet::PlanDispatch(books_.hosts, books_.runs, Rules(), now);
  Changes changes;
  for (const int64_t number : plan.start) {
    const FleetRun& run = *books_.runs.Find(number);
    const OwnedVolume volume = *books_.hosts.FindVolume(run.volume);
    FleetRun& next = changes.Edit(run);
    next.set_state(v1::RUN_STATE_RUNNING);
    next.waits_for.clear();
    next.live.Clear();
    next.record.set_host_id(volume.host->id);
    next.record.set_attempt(run.record.attempt() + 1);
    if (!volume.claim->needs_full) continue;
    next.record.set_full(true);
    const fleet::HostBook::Change cleared = books_.hosts.ClearNeedsFull(run.volume);
    changes.hosts.claims.insert(cleared.claims.begin(), cleared.claims.end());
    changes.hosts.durable = true;
  }
  // Runs that were let go of too long ago.
  for (const int64_t number : books_.runs.Surplus(fleet::kEndedRunsMax)) {
    changes.erased_runs.insert(number);
  }
  RETURN_IF_ERROR(Commit(std::move(changes)));
  for (auto& [number, reason] : plan.waits_for) books_.runs.SetWaitsFor(number, std::move(reason));
  return absl::OkStatus();
}

Fleet::FleetRun& Fleet::AddRun(const OwnedVolume& volume, std::shared_ptr<const Policy> rules,
                               absl::Time now, Changes& changes) {
  const int64_t number =
      changes.runs.empty() ? books_.runs.next_number()
                           : std::max(books_.runs.next_number(), changes.runs.rbegin()->first + 1);
  FleetRun& run = changes.runs[number];
  run.number = number;
  run.volume = volume.volume->uuid;
  run.rules = std::move(rules);
  // The first half tells runs of a restored database from those that were lost with it.
  run.record.set_run_id(absl::StrFormat(
      "%08x-%d",
      static_cast<uint32_t>(fleet::Mix(static_cast<uint64_t>(absl::ToUnixNanos(now)),
                                       absl::StrCat(number), run.volume)),
      number));
  run.record.set_volume_uuid(ToBytes(run.volume));
  run.record.set_volume_name(volume.volume->Name());
  run.record.set_host_id(volume.host->id);
  if (run.rules != nullptr) run.record.set_rules_yaml(fleet::CanonicalYaml(*run.rules));
  run.record.set_create_unix_seconds(absl::ToUnixSeconds(now));
  run.set_state(v1::RUN_STATE_WAITING);
  if (const std::optional<int64_t> gain = ExpectedGain(run.volume)) {
    run.record.set_expected_bytes(*gain);
  }
  return run;
}

std::optional<int64_t> Fleet::ExpectedGain(const VolumeUuid& volume) const {
  const auto& runs = books_.runs.runs();
  for (auto at = runs.rbegin(); at != runs.rend(); ++at) {
    const storage::v1::FleetRunRecord& record = at->second.record;
    if (at->second.volume != volume || !record.has_result()) continue;
    if (record.result().has_bytes_expected()) return record.result().bytes_expected();
    const int64_t scanned = record.result().bytes_scanned();
    if (scanned <= 0 || !record.result().has_bytes_freed() || !options_.waiting_bytes) continue;
    const std::optional<int64_t> waiting = options_.waiting_bytes(volume);
    if (!waiting) return std::nullopt;
    const double share =
        static_cast<double>(record.result().bytes_freed()) / static_cast<double>(scanned);
    return static_cast<int64_t>(static_cast<double>(*waiting) * std::clamp(share, 0.0, 1.0));
  }
  return std::nullopt;
}

}  // namespace onefold
