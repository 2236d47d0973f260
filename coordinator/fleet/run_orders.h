// What a host is told about runs. Pure.

#ifndef ONEFOLD_COORDINATOR_FLEET_RUN_ORDERS_H_
#define ONEFOLD_COORDINATOR_FLEET_RUN_ORDERS_H_

#include "absl/time/time.h"
#include "coordinator/fleet/run.h"
#include "onefold/v1/fleet.pb.h"

namespace onefold::fleet {

// For the host that has the run's slot. The same until something changes, so a lost answer costs
// nothing.
v1::RunOrder OrderFor(const FleetRun& run, bool stop, absl::Duration time_left);

// For a run that the host reported but has no slot for. `run`: null if it is not the host's.
v1::RunOrder OrderForReported(const v1::RunStatus& status, const FleetRun* run);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_RUN_ORDERS_H_
