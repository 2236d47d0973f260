// `onefold dedupe`: wires coordinator and worker together in one process and runs them.

#ifndef ONEFOLD_CLI_DEDUPE_COMMAND_H_
#define ONEFOLD_CLI_DEDUPE_COMMAND_H_

#include <string>

#include "cli/dedupe_arguments.h"
#include "common/clock.h"
#include "common/stop.h"

namespace onefold {

// Returns the exit code. `stop` ends the run early.
int RunDedupe(const DedupeArguments& arguments, Clock& clock, StopSignal& stop);

// Prints why a run is not even begun. Returns the exit code.
int RefuseDedupe(const std::string& message, bool json, Clock& clock);

}  // namespace onefold

#endif  // ONEFOLD_CLI_DEDUPE_COMMAND_H_
