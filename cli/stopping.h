// What asks a run to end early: signals and --max-time.

#ifndef ONEFOLD_CLI_STOPPING_H_
#define ONEFOLD_CLI_STOPPING_H_

#include <thread>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/stop.h"

namespace onefold {

// Turns the first SIGINT, SIGTERM or SIGHUP into `stop`; a second one ends the process at once,
// with 128 + its number. Ignores SIGPIPE. For the whole process, once; `stop` lives as long as it.
void InstallSignalHandlers(StopSignal& stop);

// The signal that came, or 0.
int ReceivedSignal();

// Requests `stop` when the time is over.
class TimeLimit {
 public:
  // `limit` counts from now; zero: no limit. `clock` and `stop` must outlive this object.
  TimeLimit(absl::Duration limit, Clock& clock, StopSignal& stop);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  void Run();

  Clock& clock_;
  StopSignal& stop_;
  const absl::Duration end_;
  Mutex mutex_;
  CondVar done_changed_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_STOPPING_H_
