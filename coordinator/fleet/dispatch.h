// Dispatch: which waiting runs begin now, and why the others do not. Pure.
//
// A person's runs go first, then by priority, then by expected gain, then by age. A run needs its
// volume mounted on a host that speaks, is not drained and does nothing else; an open window (not
// if a person asked for it); and a slot: in all, of its policy, and of its host's group in its
// policy.

#ifndef ONEFOLD_COORDINATOR_FLEET_DISPATCH_H_
#define ONEFOLD_COORDINATOR_FLEET_DISPATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/fleet/host_book.h"
#include "coordinator/fleet/run_book.h"

namespace onefold::fleet {

struct DispatchRules {
  int64_t runs_at_once = 0;     // in all; 0: no limit
  absl::Duration silent_after;  // a host that was not heard of for so long gets no work
};

// The two clocks: windows go by the wall, silence by what grows steadily.
struct Instant {
  absl::Time wall;
  absl::Duration steady;
};

struct DispatchPlan {
  std::vector<int64_t> start;                // numbers of runs
  std::map<int64_t, std::string> waits_for;  // the others, for people
};

DispatchPlan PlanDispatch(const HostBook& hosts, const RunBook& runs, const DispatchRules& rules,
                          Instant now);

// Whether a run that has a slot must stop; empty if it may go on.
std::string StopReason(const FleetRun& run, const HostBook& hosts, Instant now);

// How long the run may go on: what is left of its window.
absl::Duration TimeLeft(const FleetRun& run, absl::Time now);

bool IsSilent(const Host& host, const DispatchRules& rules, Instant now);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_DISPATCH_H_
