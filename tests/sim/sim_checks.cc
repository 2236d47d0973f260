// What must hold in a simulated fleet, whatever happens to it.

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "coordinator/fleet/jitter.h"
#include "coordinator/fleet/policy.h"
#include "tests/sim/fleet_sim.h"

namespace onefold::sim {
namespace {

// A run is made at the next tick, a slot is given there too.
constexpr absl::Duration kSoon = absl::Seconds(25);
// What was under way when all healed has its time: late messages, leases, silent hosts.
constexpr absl::Duration kSettle = absl::Minutes(15);

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds());
}

bool HasEnded(const v1::Run& run) { return run.state() >= v1::RUN_STATE_COMPLETED; }

// A host works on it, or is told to.
bool HasSlot(const v1::Run& run) { return !HasEnded(run) && !run.host_id().empty(); }

}  // namespace

std::vector<v1::Run> FleetSim::Runs(bool active_only) {
  std::vector<v1::Run> runs;
  if (!coordinator_->up()) return runs;
  for (Fleet::NumberedRun& run : coordinator_->fleet()->ListRuns(0, 100'000, active_only)) {
    runs.push_back(std::move(run.run));
  }
  return runs;
}

// The windows of ApplyPolicy, worked out anew. What people ask for begins at once.
void FleetSim::CheckWindow(const std::string& run_id) {
  if (!has_windows_ || by_hand_.contains(run_id)) return;
  const absl::CivilSecond now = absl::ToCivilSecond(world_.now(), absl::UTCTimeZone());
  if (now.hour() < 1 || now.hour() > 8 || now.minute() < 5 || now.minute() >= 50) {
    world_.Wrong(absl::StrCat("run ", run_id, " works outside of its window"));
  }
}

void FleetSim::CheckNow() {
  const std::vector<v1::Run> active = Runs(/*active_only=*/true);
  CheckRunsAtOnce(active);
}

void FleetSim::CheckRunsAtOnce(const std::vector<v1::Run>& active) {
  std::set<std::string> volumes;
  std::set<std::string> hosts;
  std::map<std::string, int64_t> sites;
  int64_t count = 0;
  for (const v1::Run& run : active) {
    if (!HasSlot(run)) continue;
    ++count;
    if (!volumes.insert(run.volume_uuid()).second) world_.Wrong("two runs of one volume at once");
    if (!hosts.insert(run.host_id()).second) world_.Wrong("two runs on one host at once");
    ++sites[run.host_id() == "h1" ? "a" : "b"];
  }
  if (options_.runs_at_once > 0 && count > options_.runs_at_once) world_.Wrong("too many at once");
  for (const auto& [site, runs] : sites) {
    if (per_site_ > 0 && runs > per_site_) world_.Wrong("too many at once in a group");
  }
}

void FleetSim::CheckEnd() {
  std::vector<v1::Run> runs = Runs(/*active_only=*/false);
  std::reverse(runs.begin(), runs.end());  // the oldest first
  for (const v1::Run& run : runs) {
    if (!HasEnded(run)) {
      world_.Wrong(absl::StrCat("run ", run.run_id(), " never ends: ", run.ShortDebugString()));
    }
  }
  CheckEnds(runs);
  CheckSchedule(runs);
  CheckDisks();
}

void FleetSim::CheckEnds(const std::vector<v1::Run>& runs) {
  std::map<std::string, int64_t> told;
  for (const auto& worker : workers_) {
    for (const auto& [run_id, freed] : worker->ended_runs()) told[run_id] += freed;
  }
  int64_t freed = 0;
  int64_t count = 0;
  for (const v1::Run& run : runs) {
    const auto worker_said = told.find(run.run_id());
    if (!run.status().figures().has_bytes_freed()) {
      for (const auto& worker : workers_) {
        if (worker->id() == run.host_id() && worker->ended_runs().contains(run.run_id())) {
          world_.Wrong(absl::StrCat("the end of run ", run.run_id(), " was lost"));
        }
      }
      continue;
    }
    ++count;
    freed += run.status().figures().bytes_freed();
    if (worker_said == told.end() || worker_said->second < run.status().figures().bytes_freed()) {
      world_.Wrong(absl::StrCat("run ", run.run_id(), " has figures that nobody told"));
    }
  }
  const storage::v1::FleetTotals totals = coordinator_->fleet()->Totals();
  if (totals.freed_bytes() != freed || totals.run_count() != count) {
    world_.Wrong(absl::StrCat("the sums say ", totals.run_count(), " runs freed ",
                              totals.freed_bytes(), ", the runs say ", count, " freed ", freed));
  }
}

void FleetSim::CheckSchedule(const std::vector<v1::Run>& runs) {
  const auto policies = fleet::ParsePolicies(policy_yaml_, absl::UTCTimeZone());
  const fleet::Schedule& schedule = *policies->front().schedule;
  for (const Disk& disk : world_.disks()) {
    const absl::Duration later = fleet::JitterOf(options_.jitter_seed, "p", disk.uuid, jitter_);
    std::vector<const v1::Run*> made;
    for (const v1::Run& run : runs) {
      if (run.volume_uuid() == ToBytes(disk.uuid) && run.policy() == "p") made.push_back(&run);
    }
    for (size_t i = 1; i < made.size(); ++i) {
      const absl::Time before = TimeOf(made[i - 1]->create_time());
      const absl::Time after = TimeOf(made[i]->create_time());
      if (!schedule.LatestIn(before - later, after - later)) {
        world_.Wrong(absl::StrCat("two runs for one time: ", made[i]->run_id()));
      }
    }
    const absl::Time from = healed_at_ + kSettle;
    for (absl::Time due = schedule.NextAfter(from - later) + later;
         due + kSoon < schedule_ended_at_; due = schedule.NextAfter(due - later) + later) {
      const bool answered = std::any_of(made.begin(), made.end(), [&](const v1::Run* run) {
        return TimeOf(run->create_time()) <= due + kSoon && TimeOf(run->end_time()) >= due;
      });
      if (!answered) {
        world_.Wrong(absl::StrCat("nothing ran when it was due, ", absl::FormatTime(due)));
      }
    }
  }
}

void FleetSim::CheckDisks() {
  for (const Disk& disk : world_.disks()) {
    const auto all = static_cast<size_t>(disk.duplicate_count);
    if (disk.folded.size() != all) {
      world_.Wrong(absl::StrCat(disk.folded.size(), " of ", all, " duplicates are folded"));
    }
    if (std::string wrong = coordinator_->index().Check(disk); !wrong.empty()) {
      world_.Wrong(absl::StrCat("the index: ", wrong));
    }
  }
}

}  // namespace onefold::sim
