// A clock that stands still until told otherwise. Thread-safe.

#ifndef ONEFOLD_COMMON_TESTING_FAKE_CLOCK_H_
#define ONEFOLD_COMMON_TESTING_FAKE_CLOCK_H_

#include "common/clock.h"
#include "common/mutex.h"

namespace onefold {

class FakeClock final : public Clock {
 public:
  absl::Time Now() override {
    MutexLock lock(&mutex_);
    return now_;
  }
  absl::Duration Monotonic() override {
    MutexLock lock(&mutex_);
    return now_ - absl::FromUnixSeconds(0);
  }
  void Advance(absl::Duration by) {
    MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1'000'000'000);
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_TESTING_FAKE_CLOCK_H_
