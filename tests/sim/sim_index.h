// SimIndex: the real index and planner (VolumeBook, ScanWriter, PlanStream, RecordResults) on a
// store in memory, behind the rules of CoordinatorService. The store outlives crashes of the
// coordinator, and may be lost as a whole. Its disk fills up.

#ifndef ONEFOLD_TESTS_SIM_SIM_INDEX_H_
#define ONEFOLD_TESTS_SIM_SIM_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/outcome_recorder.h"
#include "coordinator/plan_stream.h"
#include "coordinator/scan_upload.h"
#include "coordinator/testing/memory_store.h"
#include "coordinator/volume_book.h"
#include "tests/sim/sim_world.h"

namespace onefold::sim {

// What a worker is told of a volume's index, and says with each call about it.
struct IndexPlace {
  uint64_t incarnation = 0;
  int64_t scanned_generation = 0;
};

// Groups of extents that seem equal, some of a plan or all that is left of it.
struct SimPlan {
  std::vector<index::PlanGroup> groups;
  bool complete = false;
};

class SimIndex {
 public:
  explicit SimIndex(World& world) : world_(world) { Open(); }

  void Open();
  void Close();
  // The database is gone, and with it every place that was told.
  void Lose();
  void FillDisk(bool full);

  // The volume of a lease that was given. `anew`: the index is begun again.
  absl::StatusOr<IndexPlace> Admit(const VolumeUuid& volume, bool anew, bool run_begins);
  // A whole scan. Durable when it returns.
  absl::Status Upload(const VolumeUuid& volume, uint64_t incarnation,
                      std::vector<index::Extent> rows, int64_t target_generation);
  absl::StatusOr<SimPlan> FetchPlan(const VolumeUuid& volume, uint64_t incarnation);
  absl::Status Record(const VolumeUuid& volume, uint64_t incarnation,
                      const std::vector<index::ExtentResult>& results);
  // All that the plan offered has its result.
  absl::Status EndPlan(const VolumeUuid& volume, uint64_t incarnation);

  // What is wrong with the rows of a volume, beside what its disk says; empty is good.
  std::string Check(const Disk& disk);

 private:
  absl::StatusOr<index::Volume*> Find(const VolumeUuid& volume) const;

  World& world_;
  std::unique_ptr<index::MemoryStore> store_ = std::make_unique<index::MemoryStore>();
  bool disk_full_ = false;
  std::unique_ptr<index::VolumeBook> volumes_;
  std::unique_ptr<index::ScanWriter> scans_;
};

// The extents of a disk that are newer than `after`, as a scan finds them.
std::vector<index::Extent> ScanOf(const Disk& disk, int64_t after);

}  // namespace onefold::sim

#endif  // ONEFOLD_TESTS_SIM_SIM_INDEX_H_
