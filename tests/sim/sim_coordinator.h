// SimCoordinator: the real Fleet and LeaseOffice behind the rules of CoordinatorService, with a
// planner that hands out duplicates. Crashes, restarts, and its disk fills up.

#ifndef ONEFOLD_TESTS_SIM_SIM_COORDINATOR_H_
#define ONEFOLD_TESTS_SIM_SIM_COORDINATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/lease_office.h"
#include "coordinator/testing/memory_store.h"
#include "tests/sim/sim_world.h"

namespace onefold::sim {

class SimCoordinator {
 public:
  struct SyncReply {
    Fleet::SyncAnswer answer;
    std::map<VolumeUuid, int64_t> epochs;  // of leases that were given
    absl::Duration ttl;
  };
  struct Grant {
    int64_t epoch = 0;
    std::string worker;
  };

  SimCoordinator(Fleet::Options options, World& world) : options_(options), world_(world) {
    Start();
  }

  void Crash();
  void Start();
  bool up() const { return fleet_ != nullptr; }
  void FillDisk(bool full);

  // As CoordinatorService does it. UNAVAILABLE while it is down.
  absl::StatusOr<SyncReply> Sync(const std::string& worker, const v1::HostReport& report,
                                 const std::vector<VolumeUuid>& want_leases);
  absl::StatusOr<std::vector<int>> FetchPlan(const std::string& worker, const VolumeUuid& volume,
                                             int64_t epoch);
  absl::Status ReportResults(const std::string& worker, const VolumeUuid& volume, int64_t epoch,
                             const std::vector<int>& folded);
  void Tick();

  // Null while it is down.
  Fleet* fleet() { return fleet_.get(); }
  // Whom the volume was leased to last.
  const Grant& LastGrant(const VolumeUuid& volume) { return grants_[volume]; }

 private:
  absl::Status CheckUp() const;

  const Fleet::Options options_;
  World& world_;
  index::MemoryStore state_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<index::LeaseOffice> leases_;
  std::map<VolumeUuid, Grant> grants_;
};

}  // namespace onefold::sim

#endif  // ONEFOLD_TESTS_SIM_SIM_COORDINATOR_H_
