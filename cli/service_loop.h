// What every service does while it serves: waits for signals, feeds the watchdog, and calls what is
// due.

#ifndef ONEFOLD_CLI_SERVICE_LOOP_H_
#define ONEFOLD_CLI_SERVICE_LOOP_H_

#include <functional>

#include "absl/time/time.h"
#include "common/service_manager.h"

namespace onefold {

// Blocks SIGTERM, SIGINT and SIGHUP (the last two unless the caller had them ignored) for the
// thread and all that it starts, so that ServiceLoop gets them; ignores SIGPIPE. Before the first
// thread.
void BlockServiceSignals();

// Calls `tick` every `interval` and feeds the watchdog after each, until one of the signals comes.
// Returns it. A tick that hangs starves the watchdog.
int ServeUntilSignal(const ServiceManager& manager, absl::Duration interval,
                     const std::function<void()>& tick);

// Ends the process with `exit_code` if it is still there after `limit`: for shutting down when what
// is under way does not end. All that was acknowledged is durable. Also ends it at the next signal.
void EndProcessAfter(absl::Duration limit, int exit_code);

}  // namespace onefold

#endif  // ONEFOLD_CLI_SERVICE_LOOP_H_
