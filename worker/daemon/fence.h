// Fence: whether the lease that a run works under is good now. No operation starts behind it.
//
// A lease ends when its time is over, counted from when it was asked for, whether or not anybody
// can be reached; and it is lost for good when the coordinator gives another one, or none.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_FENCE_H_
#define ONEFOLD_WORKER_DAEMON_FENCE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "worker/lease_watch.h"

namespace onefold {

class Fence {
 public:
  explicit Fence(Clock& clock) : clock_(clock) {}

  // A lease was given, or given again. One of another epoch than the first: the first is lost.
  void Granted(const LeaseGrant& grant);
  // There is none any more.
  void Lose();

  // Whether an operation may start now.
  bool open();
  bool lost();
  // Of the latest lease; nullopt before the first.
  std::optional<LeaseGrant> latest();

 private:
  Clock& clock_;
  Mutex mutex_;
  std::optional<LeaseGrant> latest_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_FENCE_H_
