// SimCoordinator: the real Fleet, LeaseOffice, index and planner behind the rules of
// CoordinatorService. Crashes, restarts, loses its index, and its disk fills up.

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
#include "tests/sim/sim_index.h"
#include "tests/sim/sim_world.h"

namespace onefold::sim {

class SimCoordinator {
 public:
  struct SyncReply {
    Fleet::SyncAnswer answer;
    struct Lease {
      int64_t epoch = 0;
      IndexPlace place;
    };
    std::map<VolumeUuid, Lease> leases;  // that were given
    absl::Duration ttl;
  };
  // Under which lease, and about which index, a worker speaks.
  struct Topic {
    VolumeUuid volume;
    int64_t epoch = 0;
    uint64_t incarnation = 0;
  };
  struct Wanted {
    VolumeUuid volume;
    bool anew = false;  // --full
  };
  struct Grant {
    int64_t epoch = 0;
    std::string worker;
  };

  SimCoordinator(Fleet::Options options, World& world)
      : options_(options), world_(world), index_(world) {
    Start();
  }

  // `lose_index`: with the soft half of what it has.
  void Crash(bool lose_index);
  void Start();
  bool up() const { return fleet_ != nullptr; }
  void FillDisk(bool full);

  // As CoordinatorService does it. UNAVAILABLE while it is down.
  absl::StatusOr<SyncReply> Sync(const std::string& worker, const v1::HostReport& report,
                                 const std::vector<Wanted>& want_leases);
  absl::Status Upload(const std::string& worker, const Topic& topic,
                      std::vector<index::Extent> rows, int64_t target_generation);
  absl::StatusOr<SimPlan> FetchPlan(const std::string& worker, const Topic& topic);
  // `ends`: they are the last ones of a plan.
  absl::Status ReportResults(const std::string& worker, const Topic& topic,
                             const std::vector<index::ExtentResult>& results, bool ends);
  void Tick();

  // Null while it is down.
  Fleet* fleet() { return fleet_.get(); }
  SimIndex& index() { return index_; }
  // Whom the volume was leased to last.
  const Grant& LastGrant(const VolumeUuid& volume) { return grants_[volume]; }

 private:
  absl::Status CheckUp() const;
  // UNAVAILABLE, PERMISSION_DENIED, ABORTED.
  absl::Status CheckLease(const std::string& worker, const Topic& topic);

  const Fleet::Options options_;
  World& world_;
  index::MemoryStore state_;
  SimIndex index_;
  bool index_open_ = true;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<index::LeaseOffice> leases_;
  std::map<VolumeUuid, Grant> grants_;
};

}  // namespace onefold::sim

#endif  // ONEFOLD_TESTS_SIM_SIM_COORDINATOR_H_
