// Where time comes from. Only cli and clock.cc name the real one.

#ifndef ONEFOLD_COMMON_CLOCK_H_
#define ONEFOLD_COMMON_CLOCK_H_

#include "absl/time/time.h"

namespace onefold {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall clock, for people and records.
  virtual absl::Time Now() = 0;
  // Grows steadily whatever happens to the wall clock; for spans, leases and limits.
  virtual absl::Duration Monotonic() = 0;
};

// The machine's clocks. Lives for ever.
Clock& SystemClock();

}  // namespace onefold

#endif  // ONEFOLD_COMMON_CLOCK_H_
