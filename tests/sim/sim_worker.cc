#include "tests/sim/sim_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace onefold::sim {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
constexpr absl::Duration kIdleDelay = absl::Seconds(20);
constexpr absl::Duration kBusyDelay = absl::Seconds(6);
constexpr absl::Duration kWorkDelay = absl::Seconds(4);
constexpr int64_t kBytesPerDuplicate = 4096;

bool IsEnded(v1::RunState state) { return state >= v1::RUN_STATE_COMPLETED; }

}  // namespace

void SimWorker::Start() {
  up_ = true;
  ++life_;
  SyncLater(absl::Seconds(1));
  const int life = life_;
  world_.After(kWorkDelay, [this, life] {
    if (life == life_) Work();
  });
}

void SimWorker::Crash() {
  up_ = false;
  ++life_;
  std::erase_if(jobs_, [](const auto& job) { return !IsEnded(job.second.state); });
}

SimWorker::Job* SimWorker::Find(const std::string& run_id, int life) {
  const auto job = jobs_.find(run_id);
  return life == life_ && job != jobs_.end() ? &job->second : nullptr;
}

// ---- the conversation ----

void SimWorker::Send(std::function<void()> deliver) {
  if (world_.now() < cut_until_) return;
  world_.Send([this, deliver = std::move(deliver)] {
    if (world_.now() >= cut_until_) deliver();
  });
}

void SimWorker::SyncLater(absl::Duration delay) {
  const int life = life_;
  world_.After(delay, [this, life] {
    if (life == life_) Sync();
  });
}

v1::HostReport SimWorker::Report() {
  v1::HostReport report;
  report.set_display_name(options_.id);
  (*report.mutable_labels())["site"] = options_.site;
  bool skip = std::exchange(forgets_once_, false);
  for (const VolumeUuid& volume : options_.volumes) {
    if (std::exchange(skip, false)) continue;
    v1::MountedVolume& mounted = *report.add_volumes();
    mounted.set_volume_uuid(ToBytes(volume));
    mounted.add_mount_paths("/mnt");
    mounted.add_allowed_roots("/mnt");
  }
  for (const auto& [run_id, job] : jobs_) {
    v1::RunStatus& status = *report.add_runs();
    status.set_run_id(run_id);
    status.set_state(job.state);
    status.set_attempt(job.attempt);
    if (IsEnded(job.state)) status.mutable_figures()->set_bytes_freed(freed_[run_id]);
  }
  return report;
}

void SimWorker::Sync() {
  std::vector<SimCoordinator::Wanted> want_leases;
  for (const auto& [run_id, job] : jobs_) {
    if (job.state != v1::RUN_STATE_RUNNING) continue;
    want_leases.push_back({.volume = job.volume, .anew = job.full});
  }
  const int life = life_;
  const int number = ++sync_number_;
  const absl::Time sent_at = world_.now();
  Send([this, life, number, sent_at, report = Report(), want_leases] {
    const auto reply = coordinator_.Sync(options_.id, report, want_leases);
    if (!reply.ok()) return;
    Send([this, life, number, sent_at, reply = *reply] {
      if (life != life_ || number != sync_number_) return;
      ++sync_number_;
      Obey(reply, sent_at);
    });
  });
  world_.After(kCallTimeout, [this, life, number] {
    if (life != life_ || number != sync_number_) return;
    ++sync_number_;
    SyncLater(absl::Seconds(1 + world_.Chance(20)));
  });
}

void SimWorker::Obey(const SimCoordinator::SyncReply& reply, absl::Time sent_at) {
  for (const v1::RunOrder& order : reply.answer.orders) ObeyOrder(order, sent_at);
  for (auto& [run_id, job] : jobs_) {
    const auto lease = reply.leases.find(job.volume);
    if (lease == reply.leases.end() || job.state != v1::RUN_STATE_RUNNING) continue;
    const auto& [epoch, place] = lease->second;
    if (job.epoch != epoch || job.place.incarnation != place.incarnation) {
      job.plan = {};
      job.scanned = false;
      job.place = place;
    }
    job.epoch = epoch;
    job.lease_until = sent_at + reply.ttl;  // counted from when it asked
  }
  SyncLater(jobs_.empty() ? kIdleDelay : kBusyDelay);
}

void SimWorker::ObeyOrder(const v1::RunOrder& order, absl::Time sent_at) {
  const auto known = jobs_.find(order.run_id());
  if (order.action() == v1::RunOrder::ACTION_FORGET) {
    if (known == jobs_.end()) return;
    if (IsEnded(known->second.state) || known->second.state == v1::RUN_STATE_WAITING) {
      jobs_.erase(known);
    }
    return;
  }
  if (order.action() == v1::RunOrder::ACTION_RUN) {
    Job& job = jobs_[order.run_id()];
    if (IsEnded(job.state)) return;
    job.volume = *VolumeUuidFromBytes(order.volume_uuid());
    job.state = v1::RUN_STATE_RUNNING;
    job.attempt = order.attempt();
    job.full = order.full();
    job.stop_at = order.has_time_left() ? sent_at + absl::Seconds(order.time_left().seconds())
                                        : absl::InfiniteFuture();
    return;
  }
  if (known == jobs_.end() || IsEnded(known->second.state)) return;
  if (order.action() == v1::RunOrder::ACTION_PAUSE) {
    known->second.state = v1::RUN_STATE_PAUSED;
  } else {
    End(order.run_id(), known->second, v1::RUN_STATE_CANCELLED);
  }
}

void SimWorker::End(const std::string& run_id, Job& job, v1::RunState state) {
  job.state = state;
  if (!ended_runs_.try_emplace(run_id, freed_[run_id]).second) {
    world_.Wrong(absl::StrCat("run ", run_id, " was begun again after its end"));
  }
}

// ---- work ----

void SimWorker::Work() {
  for (auto& [run_id, job] : jobs_) WorkOn(run_id, job);
  const int life = life_;
  world_.After(jobs_.empty() ? kBusyDelay : kWorkDelay, [this, life] {
    if (life == life_) Work();
  });
}

void SimWorker::WorkOn(const std::string& run_id, Job& job) {
  if (job.waits_for_answer) return;
  const bool plan_done = job.plan.groups.empty();
  if (!job.results.empty() && (plan_done || job.state != v1::RUN_STATE_RUNNING)) {
    SendResults(run_id);  // facts, whatever became of the run
    return;
  }
  if (job.state != v1::RUN_STATE_RUNNING) return;
  if (world_.now() >= job.stop_at) {
    job.state = v1::RUN_STATE_WAITING;
    return;
  }
  if (world_.now() >= job.lease_until) return;  // the next Sync asks for another
  if (!job.scanned) {
    Scan(run_id);
  } else if (plan_done) {
    FetchPlan(run_id);
  } else {
    Fold(run_id, job);
  }
}

void SimWorker::Fold(const std::string& run_id, Job& job) {
  const SimCoordinator::Grant& grant = coordinator_.LastGrant(job.volume);
  if (grant.worker != options_.id) {
    world_.Wrong(
        absl::StrCat(options_.id, " begins an operation, but ", grant.worker, " has the lease"));
  }
  world_.Operation(run_id);
  const index::PlanGroup group = std::move(job.plan.groups.back());
  job.plan.groups.pop_back();
  Disk& disk = *world_.FindDisk(job.volume);
  for (const index::PlanMember& member : group.members) {
    const int duplicate = Disk::DuplicateAt(member.address);
    v1::Outcome outcome = v1::OUTCOME_KEPT;
    if (member.address == Disk::CopyOf(duplicate)) {
      const bool folded_now = disk.folded.insert(duplicate).second;
      outcome = folded_now ? v1::OUTCOME_FREED : v1::OUTCOME_GONE;
      if (folded_now) freed_[run_id] += kBytesPerDuplicate;
    }
    job.results.push_back({.address = member.address,
                           .generation = member.generation,
                           .outcome = outcome,
                           .holder = v1::HOLDER_UNSPECIFIED});
  }
}

SimCoordinator::Topic SimWorker::TopicOf(const Job& job) const {
  return {.volume = job.volume, .epoch = job.epoch, .incarnation = job.place.incarnation};
}

template <typename Ask, typename Hear>
void SimWorker::Call(const std::string& run_id, Ask ask, Hear hear) {
  jobs_[run_id].waits_for_answer = true;
  const int life = life_;
  const absl::Time sent_at = world_.now();
  Send([this, life, run_id, sent_at, ask, hear] {
    const auto answer = ask();
    Send([this, life, run_id, sent_at, answer, hear] {
      Job* job = Find(run_id, life);
      if (job == nullptr || !job->waits_for_answer || world_.now() - sent_at > kCallTimeout) return;
      job->waits_for_answer = false;
      hear(*job, answer);
    });
  });
  world_.After(kCallTimeout, [this, life, run_id] {
    if (Job* job = Find(run_id, life)) job->waits_for_answer = false;
  });
}

void SimWorker::Scan(const std::string& run_id) {
  const Job& job = jobs_[run_id];
  const Disk& disk = *world_.FindDisk(job.volume);
  Call(
      run_id,
      [this, topic = TopicOf(job), rows = ScanOf(disk, job.place.scanned_generation),
       generation = disk.generation] {
        return coordinator_.Upload(options_.id, topic, rows, generation);
      },
      [epoch = job.epoch](Job& job, const absl::Status& status) {
        if (!status.ok()) {
          job.lease_until = absl::InfinitePast();  // not the latest one, or unreachable
        } else if (job.epoch == epoch) {
          job.scanned = true;
        }
      });
}

void SimWorker::FetchPlan(const std::string& run_id) {
  const Job& job = jobs_[run_id];
  const absl::Time sent_at = world_.now();
  Call(
      run_id, [this, topic = TopicOf(job)] { return coordinator_.FetchPlan(options_.id, topic); },
      [this, sent_at, run_id, epoch = job.epoch](Job& job, const absl::StatusOr<SimPlan>& plan) {
        if (!plan.ok()) {
          job.lease_until = absl::InfinitePast();
          return;
        }
        if (job.state != v1::RUN_STATE_RUNNING || job.epoch != epoch) return;
        job.plan = *plan;
        job.lease_until = std::max(job.lease_until, sent_at + absl::Minutes(5));
        if (job.plan.groups.empty() && job.results.empty()) {
          End(run_id, job, v1::RUN_STATE_COMPLETED);
        }
      });
}

void SimWorker::SendResults(const std::string& run_id) {
  const Job& job = jobs_[run_id];
  const bool ends = job.plan.complete && job.plan.groups.empty();
  Call(
      run_id,
      [this, topic = TopicOf(job), results = job.results, ends] {
        return coordinator_.ReportResults(options_.id, topic, results, ends);
      },
      [](Job& job, const absl::Status& status) {
        // Who may not speak of the volume any more has nothing to add either; nor has anybody to an
        // index that is gone: the next scan tells.
        if (status.ok() || absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status)) {
          job.results.clear();
        }
      });
}

}  // namespace onefold::sim
