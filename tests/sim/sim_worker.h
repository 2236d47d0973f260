// SimWorker: a host as the coordinator meets it: it calls Sync, obeys orders, takes leases, fetches
// plans, folds, reports. Crashes lose all but what a worker keeps on disk: the ends of its runs and
// their figures.

#ifndef ONEFOLD_TESTS_SIM_SIM_WORKER_H_
#define ONEFOLD_TESTS_SIM_SIM_WORKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/sim/sim_coordinator.h"
#include "tests/sim/sim_world.h"

namespace onefold::sim {

class SimWorker {
 public:
  struct Options {
    std::string id;
    std::string site;
    std::vector<VolumeUuid> volumes;
  };

  SimWorker(Options options, SimCoordinator& coordinator, World& world)
      : options_(std::move(options)), coordinator_(coordinator), world_(world) {}

  void Start();
  void Crash();
  bool up() const { return up_; }
  const std::string& id() const { return options_.id; }
  // Its list of mounts lacks a volume for once, although it can still write to it.
  void ForgetAVolumeOnce() { forgets_once_ = true; }
  // Nothing comes or goes for a while.
  void Cut(absl::Duration span) { cut_until_ = world_.now() + span; }
  // What the worker said a run had freed when it ended, by id of the run.
  const std::map<std::string, int64_t>& ended_runs() const { return ended_runs_; }

 private:
  // A run as the worker has it.
  struct Job {
    VolumeUuid volume;
    v1::RunState state = v1::RUN_STATE_RUNNING;
    int64_t attempt = 0;
    absl::Time stop_at = absl::InfiniteFuture();
    int64_t epoch = 0;
    absl::Time lease_until = absl::InfinitePast();
    bool full = false;
    IndexPlace place;
    bool scanned = false;                      // under this lease, into this index
    SimPlan plan;                              // what is left of it
    std::vector<index::ExtentResult> results;  // not acknowledged yet
    bool waits_for_answer = false;
  };

  // A message to or from the coordinator.
  void Send(std::function<void()> deliver);
  void SyncLater(absl::Duration delay);
  void Sync();
  void Obey(const SimCoordinator::SyncReply& reply, absl::Time sent_at);
  void ObeyOrder(const v1::RunOrder& order, absl::Time sent_at);
  void Work();
  void WorkOn(const std::string& run_id, Job& job);
  void Fold(const std::string& run_id, Job& job);
  void End(const std::string& run_id, Job& job, v1::RunState state);
  void Scan(const std::string& run_id);
  void FetchPlan(const std::string& run_id);
  void SendResults(const std::string& run_id);
  SimCoordinator::Topic TopicOf(const Job& job) const;
  v1::HostReport Report();
  // Asks, and hears the answer while the worker still has the job and waits for it.
  template <typename Ask, typename Hear>
  void Call(const std::string& run_id, Ask ask, Hear hear);
  // The job, if the worker still lives the same life and has it.
  Job* Find(const std::string& run_id, int life);

  const Options options_;
  SimCoordinator& coordinator_;
  World& world_;
  bool up_ = false;
  int life_ = 0;         // grows with each start: what an earlier one was waiting for is gone
  int sync_number_ = 0;  // an answer to an earlier call comes too late
  bool forgets_once_ = false;
  absl::Time cut_until_ = absl::InfinitePast();
  std::map<std::string, Job> jobs_;
  // On its disk.
  std::map<std::string, int64_t> freed_;  // by run
  std::map<std::string, int64_t> ended_runs_;
};

}  // namespace onefold::sim

#endif  // ONEFOLD_TESTS_SIM_SIM_WORKER_H_
