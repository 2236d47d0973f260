// FleetSim: a whole fleet in one thread, from one seed: the real Fleet, leases, index and planner;
// hosts, disks, network, clock and operators simulated. For an hour and a half messages are lost,
// repeated and late, hosts are cut off, both sides crash, the coordinator's disk is full now and
// then, its index is lost as a whole, a volume is seen by two hosts, and people pause, cancel and
// drain. Then all heals and the fleet must finish.
//
// Invariants, checked all the time or at the end (sim_checks.cc):
//   - no operation begins while another worker has the volume's lease, nor outside the window of a
//     policy's run
//   - never two runs of one volume or one host at once, never more than the limits allow
//   - a schedule makes at most one run for each time it is due, and at least one (a run that is
//     under way counts) while nothing is broken
//   - every end of a run that a worker told counts exactly once
//   - every duplicate is folded in the end, and every run has ended
//   - every extent that the index acknowledged is in it, and its rows and counters agree

#ifndef ONEFOLD_TESTS_SIM_FLEET_SIM_H_
#define ONEFOLD_TESTS_SIM_FLEET_SIM_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/sim/sim_coordinator.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/sim_world.h"

namespace onefold::sim {

class FleetSim {
 public:
  explicit FleetSim(uint64_t seed);

  // The first broken invariant, or "".
  std::string Run();

 private:
  void MakeHosts();
  void ApplyPolicy();
  void Every(absl::Duration interval, void (FleetSim::*what)());
  void Tick();

  // What goes wrong, and what people do.
  void Trouble();
  void CrashCoordinator();
  void CrashWorker();
  void FillDisk();
  void MeddleWithARun();
  void StartByHand();
  void DrainForAWhile();
  void ForgetHost();
  void ReplaceHost();
  void AddDuplicates();
  void Heal();

  // sim_checks.cc
  void CheckWindow(const std::string& run_id);
  void CheckNow();
  void CheckRunsAtOnce(const std::vector<v1::Run>& active);
  void CheckEnd();
  void CheckEnds(const std::vector<v1::Run>& runs);
  void CheckSchedule(const std::vector<v1::Run>& runs);
  void CheckDisks();
  std::vector<v1::Run> Runs(bool active_only);

  World world_;
  Fleet::Options options_;
  std::unique_ptr<SimCoordinator> coordinator_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::string policy_yaml_;
  bool has_windows_ = false;
  std::set<std::string> by_hand_;  // ids of runs that people asked for
  absl::Duration jitter_;
  int64_t per_site_ = 0;
  absl::Time healed_at_ = absl::InfiniteFuture();
  absl::Time schedule_ended_at_ = absl::InfiniteFuture();
};

}  // namespace onefold::sim

#endif  // ONEFOLD_TESTS_SIM_FLEET_SIM_H_
