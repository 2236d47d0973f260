// SyncSchedule: when to call the coordinator. As often as it says; soon when there is something to
// tell; more and more seldom, and not all hosts at once, while nobody answers. Pure.
//
// Not thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_SYNC_SCHEDULE_H_
#define ONEFOLD_WORKER_DAEMON_SYNC_SCHEDULE_H_

#include <functional>

#include "absl/time/time.h"

namespace onefold {

class SyncSchedule {
 public:
  // What a person should hear of: a coordinator that is down for a week must not fill the log.
  enum class News { kNone, kLost, kStillLost, kBack };

  // `chance`: numbers of [0, 1). The first call is due at once.
  explicit SyncSchedule(std::function<double()> chance) : chance_(std::move(chance)) {}

  // When the next call is due.
  absl::Duration next() const { return next_; }

  // There is something to tell.
  void Changed(absl::Duration now);
  // A call begins.
  void Begun(absl::Duration now);
  // It was answered; `delay` is what the coordinator wants.
  News Succeeded(absl::Duration delay, absl::Duration now);
  News Failed(absl::Duration now);

 private:
  const std::function<double()> chance_;
  absl::Duration next_;
  absl::Duration begun_at_ = -absl::InfiniteDuration();
  bool changed_ = false;  // since the call began
  int failures_ = 0;
  absl::Duration told_at_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_SYNC_SCHEDULE_H_
