// Progress as a worker of a fleet reports it, for whoever looks at a state directory.

#ifndef ONEFOLD_CLI_PROGRESS_STATUS_H_
#define ONEFOLD_CLI_PROGRESS_STATUS_H_

#include <string>

#include "absl/time/time.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/progress.h"

namespace onefold {

// Of the volume that is worked on, under the name that coordinator/query/single_host.h gives its
// part of the run `run_id`.
v1::RunStatus StatusOf(const Progress& progress, const std::string& run_id, absl::Duration elapsed);

}  // namespace onefold

#endif  // ONEFOLD_CLI_PROGRESS_STATUS_H_
