// RunTicket: one part of a run while it is worked on, between the desk that ordered it and the
// runner that works. Thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_RUN_TICKET_H_
#define ONEFOLD_WORKER_DAEMON_RUN_TICKET_H_

#include <string>
#include <utility>

#include "common/mutex.h"
#include "common/stop.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/progress.h"

namespace onefold {

class RunTicket {
 public:
  explicit RunTicket(v1::RunThrottle throttle) : throttle_(std::move(throttle)) {}

  // The desk asks it to end.
  StopSignal& stop() { return stop_; }
  Progress& progress() { return progress_; }

  // How hard it may work; may change while it does.
  v1::RunThrottle throttle() {
    MutexLock lock(&mutex_);
    return throttle_;
  }
  void SetThrottle(const v1::RunThrottle& throttle) {
    MutexLock lock(&mutex_);
    throttle_ = throttle;
  }

  // Why it is held up just now, for people; empty if it is not.
  std::string throttled_by() {
    MutexLock lock(&mutex_);
    return throttled_by_;
  }
  void SetThrottledBy(std::string reason) {
    MutexLock lock(&mutex_);
    throttled_by_ = std::move(reason);
  }

  // The runner learnt that it may not go on: ends the part. `reason` is for people.
  void LoseLease(std::string reason) {
    {
      MutexLock lock(&mutex_);
      if (lost_lease_.empty()) lost_lease_ = std::move(reason);
    }
    stop_.Request(StopSignal::Reason::kInterrupted);
  }
  // Empty while it has one.
  std::string lost_lease() {
    MutexLock lock(&mutex_);
    return lost_lease_;
  }

 private:
  StopSignal stop_;
  Progress progress_;
  Mutex mutex_;
  v1::RunThrottle throttle_ ABSL_GUARDED_BY(mutex_);
  std::string throttled_by_ ABSL_GUARDED_BY(mutex_);
  std::string lost_lease_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_RUN_TICKET_H_
