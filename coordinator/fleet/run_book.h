// RunBook: all runs that have not ended, and the newest that have. Pure: callers change copies,
// make them durable, and put them back. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_FLEET_RUN_BOOK_H_
#define ONEFOLD_COORDINATOR_FLEET_RUN_BOOK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/uuid.h"
#include "coordinator/fleet/run.h"

namespace onefold::fleet {

class RunBook {
 public:
  void Put(FleetRun run);
  void Erase(int64_t number);

  // nullptr if there is none. Valid until it is put or erased.
  const FleetRun* Find(absl::string_view id) const;
  const FleetRun* Find(int64_t number) const;
  // By id, or by the beginning of one. NOT_FOUND, INVALID_ARGUMENT.
  absl::StatusOr<const FleetRun*> Resolve(absl::string_view id) const;
  // The runs of a volume that have not ended, the oldest first. At most one of them is RUNNING.
  std::vector<const FleetRun*> ActiveOn(const VolumeUuid& volume) const;
  std::vector<const FleetRun*> ByRequest(absl::string_view request_id) const;

  // Numbers of the runs that have not ended, ascending.
  const std::set<int64_t>& active() const { return active_; }
  const std::map<int64_t, FleetRun>& runs() const { return runs_; }
  int64_t next_number() const { return runs_.empty() ? first_number_ : runs_.rbegin()->first + 1; }
  // Ended ones that are too many, the oldest first.
  std::vector<int64_t> Surplus(size_t ended_max) const;

  // What is not kept, changed in place.
  void SetWaitsFor(int64_t number, std::string reason);
  void SetLive(int64_t number, const v1::RunStatus& status);

 private:
  std::map<int64_t, FleetRun> runs_;
  std::map<std::string, int64_t, std::less<>> numbers_;  // by id
  std::set<std::pair<VolumeUuid, int64_t>> active_by_volume_;
  std::set<int64_t> active_;
  int64_t first_number_ = 1;
};

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_RUN_BOOK_H_
