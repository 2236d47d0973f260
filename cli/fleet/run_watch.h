// Following a run until it has ended, through lost connections and restarts of the coordinator.

#ifndef ONEFOLD_CLI_FLEET_RUN_WATCH_H_
#define ONEFOLD_CLI_FLEET_RUN_WATCH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/fleet/verb.h"

namespace onefold {

// Prints every change (--json: one onefold.run_state.v1 each) and, at the end, what came of it.
// Returns the run as it ended. UNAVAILABLE if the coordinator stayed away for kWatchPatience: the
// run goes on without us.
absl::StatusOr<v1::Run> WatchUntilEnd(const VerbCall& call, const std::string& run_id);

inline constexpr absl::Duration kWatchPatience = absl::Minutes(10);

// kExitDone if all are completed, kExitRefused if all have failed, else kExitIncomplete.
int ExitCodeOf(const std::vector<v1::Run>& ended);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_RUN_WATCH_H_
