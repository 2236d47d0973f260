// Waker: lets one thread sleep until another one wakes it, the mounts of this system change, or
// some time has passed.

#ifndef ONEFOLD_WORKER_DAEMON_WAKER_H_
#define ONEFOLD_WORKER_DAEMON_WAKER_H_

#include <string>

#include "absl/time/time.h"

namespace onefold {

// Wake may be called by any thread, Wait by one.
class Waker {
 public:
  enum class Reason { kWoken, kMounts, kTime };

  // `mountinfo`: the file to watch; what cannot be watched is not.
  explicit Waker(const std::string& mountinfo = "/proc/self/mountinfo");
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Ends the Wait under way, or the next one.
  void Wake();
  // Sleeps for `span` at most.
  Reason Wait(absl::Duration span);

 private:
  int wake_fd_ = -1;
  int mounts_fd_ = -1;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_WAKER_H_
