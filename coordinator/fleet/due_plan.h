// PlanDue: which volumes a schedule asks a run for now. Pure.
//
// For each policy and volume it is known up to when the schedule was answered. Whatever was due
// since then, be it an hour or a year of it, makes one run. A volume that is selected for the first
// time owes nothing; one that may not be worked on now is asked again later.

#ifndef ONEFOLD_COORDINATOR_FLEET_DUE_PLAN_H_
#define ONEFOLD_COORDINATOR_FLEET_DUE_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/fleet/fleet_books.h"

namespace onefold::fleet {

struct DuePlan {
  struct Due {
    std::shared_ptr<const Policy> policy;
    OwnedVolume volume;  // valid until the books change
  };
  std::vector<Due> runs;                  // at most one to a policy and volume
  std::map<DueKey, absl::Time> answered;  // to be kept with the runs
  absl::Time next;                        // nothing is due before, unless hosts or policies change
};

DuePlan PlanDue(const Books& books, uint64_t jitter_seed, absl::Time now);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_DUE_PLAN_H_
