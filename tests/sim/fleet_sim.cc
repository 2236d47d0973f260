#include "tests/sim/fleet_sim.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onefold::sim {
namespace {

constexpr absl::Duration kTrouble = absl::Minutes(90);
constexpr absl::Duration kHealthy = absl::Minutes(65);
constexpr absl::Duration kFinish = absl::Minutes(130);  // at most; an open window comes each hour
constexpr absl::Duration kTick = absl::Seconds(10);

}  // namespace

FleetSim::FleetSim(uint64_t seed) : world_(seed) {
  options_.time_zone = absl::UTCTimeZone();
  options_.jitter_seed = world_.Chance(1000);
  if (world_.OneIn(3)) options_.runs_at_once = 1 + static_cast<int64_t>(world_.Chance(2));
  coordinator_ = std::make_unique<SimCoordinator>(options_, world_);
  world_.OnOperation([this](const std::string& run_id) { CheckWindow(run_id); });
  MakeHosts();
  for (const auto& worker : workers_) worker->Start();
  ApplyPolicy();
}

void FleetSim::MakeHosts() {
  const uint64_t host_count = 2 + world_.Chance(2);
  for (uint8_t n = 1; n <= host_count; ++n) {
    Disk disk;
    disk.uuid = VolumeUuid{{n}};
    disk.Write(static_cast<int>(world_.Chance(60)));
    world_.disks().push_back(disk);
  }
  for (uint8_t n = 1; n <= host_count; ++n) {
    SimWorker::Options options = {
        .id = absl::StrCat("h", n), .site = n == 1 ? "a" : "b", .volumes = {VolumeUuid{{n}}}};
    // The second host sees the first one's disk, too.
    if (n == 2) options.volumes.push_back(VolumeUuid{{1}});
    workers_.push_back(std::make_unique<SimWorker>(std::move(options), *coordinator_, world_));
  }
}

void FleetSim::ApplyPolicy() {
  policy_yaml_ = "name: p\nselect: all\nschedule: '*/20 * * * *'\n";
  has_windows_ = world_.OneIn(2);
  if (has_windows_) {
    // It begins at 01:46 and lasts five hours.
    absl::StrAppend(&policy_yaml_, "window: [");
    for (int hour = 1; hour < 9; ++hour) {
      absl::StrAppendFormat(&policy_yaml_, "'%02d:05-%02d:50',", hour, hour);
    }
    absl::StrAppend(&policy_yaml_, "]\n");
  }
  if (world_.OneIn(2)) {
    jitter_ = absl::Minutes(5);
    absl::StrAppend(&policy_yaml_, "jitter: 5m\n");
  }
  if (world_.OneIn(3)) {
    per_site_ = 1;
    absl::StrAppend(&policy_yaml_, "at_once: {group: site, per_group: 1}\n");
  }
  const auto applied = coordinator_->fleet()->ApplyPolicies(policy_yaml_, false);
  if (!applied.ok()) world_.Wrong(applied.status().ToString());
}

void FleetSim::Every(absl::Duration interval, void (FleetSim::*what)()) {
  world_.After(interval, [this, interval, what] {
    (this->*what)();
    Every(interval, what);
  });
}

void FleetSim::Tick() {
  coordinator_->Tick();
  CheckNow();
}

std::string FleetSim::Run() {
  Every(kTick, &FleetSim::Tick);
  Every(absl::Seconds(50), &FleetSim::Trouble);
  world_.RunUntil(world_.now() + kTrouble);
  Heal();
  world_.RunUntil(world_.now() + kHealthy);
  schedule_ended_at_ = world_.now();
  if (Fleet* fleet = coordinator_->fleet()) {
    const absl::Status deleted = fleet->DeletePolicy("p");
    if (!deleted.ok()) world_.Wrong(deleted.ToString());
  }
  const absl::Time give_up = world_.now() + kFinish;
  while (world_.wrong().empty() && world_.now() < give_up && !Runs(/*active_only=*/true).empty()) {
    world_.RunUntil(world_.now() + absl::Minutes(5));
  }
  if (world_.wrong().empty()) CheckEnd();
  return world_.wrong();
}

// ---- what goes wrong ----

void FleetSim::Trouble() {
  if (!world_.faulty()) return;
  switch (world_.Chance(12)) {
    case 0: CrashCoordinator(); break;
    case 1:
    case 2: CrashWorker(); break;
    case 3: FillDisk(); break;
    case 4: MeddleWithARun(); break;
    case 5: StartByHand(); break;
    case 6: DrainForAWhile(); break;
    case 7: AddDuplicates(); break;
    case 8: workers_[world_.Chance(2)]->ForgetAVolumeOnce(); break;
    case 9: ForgetHost(); break;
    case 10: ReplaceHost(); break;
    case 11:
      workers_[world_.Chance(workers_.size())]->Cut(absl::Seconds(world_.Chance(900)));
      break;
  }
}

void FleetSim::CrashCoordinator() {
  if (!coordinator_->up()) return;
  coordinator_->Crash(/*lose_index=*/world_.OneIn(4));
  const absl::Duration down = absl::Seconds(world_.OneIn(3) ? world_.Chance(1500) : 1);
  world_.After(down, [this] {
    if (!coordinator_->up()) coordinator_->Start();
  });
}

void FleetSim::CrashWorker() {
  SimWorker* worker = workers_[world_.Chance(workers_.size())].get();
  if (!worker->up()) return;
  worker->Crash();
  const absl::Duration down = absl::Seconds(world_.OneIn(3) ? world_.Chance(1000) : 5);
  world_.After(down, [worker] {
    if (!worker->up()) worker->Start();
  });
}

void FleetSim::FillDisk() {
  coordinator_->FillDisk(true);
  world_.After(absl::Seconds(world_.Chance(200)), [this] { coordinator_->FillDisk(false); });
}

void FleetSim::MeddleWithARun() {
  const std::vector<v1::Run> active = Runs(/*active_only=*/true);
  if (active.empty()) return;
  const std::string id = active[world_.Chance(active.size())].run_id();
  if (world_.OneIn(2)) {
    coordinator_->fleet()->CancelRun(id).IgnoreError();
    return;
  }
  coordinator_->fleet()->PauseRun(id).IgnoreError();
  world_.After(absl::Seconds(world_.Chance(600)), [this, id] {
    if (coordinator_->up()) coordinator_->fleet()->ResumeRun(id).IgnoreError();
  });
}

void FleetSim::StartByHand() {
  // What people ask for is above the limits of policies, which could then not be checked.
  if (!coordinator_->up() || per_site_ > 0) return;
  v1::StartRunsRequest request;
  request.set_selector(world_.OneIn(2) ? "all" : "host=h1");
  const auto started = coordinator_->fleet()->StartRuns(request);
  if (!started.ok()) return;
  for (const v1::Run& run : started->runs()) by_hand_.insert(run.run_id());
}

void FleetSim::DrainForAWhile() {
  if (!coordinator_->up()) return;
  const std::string host = workers_[world_.Chance(workers_.size())]->id();
  coordinator_->fleet()->SetDrained(host, true).IgnoreError();
  world_.After(absl::Seconds(world_.Chance(400)), [this, host] {
    if (coordinator_->up()) coordinator_->fleet()->SetDrained(host, false).IgnoreError();
  });
}

// It works on until it hears of it, or its lease ends; its volume may be another's at once.
void FleetSim::ForgetHost() {
  if (!coordinator_->up()) return;
  coordinator_->fleet()->ForgetHost(workers_[world_.Chance(2)]->id()).IgnoreError();
}

// In the middle of its work the first host is cut off, and people put the second one, which has the
// same disk, in its place.
void FleetSim::ReplaceHost() {
  world_.disks()[0].Write(40);
  StartByHand();
  world_.After(absl::Seconds(30 + world_.Chance(60)), [this] {
    if (!world_.faulty() || !coordinator_->up()) return;
    workers_[0]->Cut(absl::Seconds(100 + world_.Chance(600)));
    coordinator_->fleet()->ForgetHost(workers_[0]->id()).IgnoreError();
  });
  world_.After(absl::Seconds(100 + world_.Chance(60)), [this] { StartByHand(); });
}

void FleetSim::AddDuplicates() {
  Disk& disk = world_.disks()[world_.Chance(world_.disks().size())];
  disk.Write(static_cast<int>(world_.Chance(30)));
}

void FleetSim::Heal() {
  world_.Heal();
  healed_at_ = world_.now();
  coordinator_->FillDisk(false);
  for (const auto& worker : workers_) worker->Cut(absl::ZeroDuration());
  if (!coordinator_->up()) coordinator_->Start();
  for (const auto& worker : workers_) {
    if (!worker->up()) worker->Start();
    coordinator_->fleet()->SetDrained(worker->id(), false).IgnoreError();
  }
  for (const v1::Run& run : Runs(/*active_only=*/true)) {
    coordinator_->fleet()->ResumeRun(run.run_id()).IgnoreError();
  }
}

}  // namespace onefold::sim
