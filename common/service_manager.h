// Tells systemd (or whoever set NOTIFY_SOCKET) how a service is: ready, stopping, alive. See
// sd_notify(3). Without NOTIFY_SOCKET nothing is told.
//
// Thread-safe.

#ifndef ONEFOLD_COMMON_SERVICE_MANAGER_H_
#define ONEFOLD_COMMON_SERVICE_MANAGER_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onefold {

class ServiceManager {
 public:
  // `variable` returns a variable of the environment or nullptr: NOTIFY_SOCKET, WATCHDOG_USEC and
  // WATCHDOG_PID are read. getenv will do.
  explicit ServiceManager(const std::function<const char*(const char* name)>& variable);

  // Startup is done; `status` is for people ("serving on :7171").
  void Ready(absl::string_view status) const;
  // What it is doing, for people.
  void Status(absl::string_view status) const;
  void Stopping() const;
  // It is alive. To be called at least every watchdog_interval().
  void Alive() const;

  // Half of the time after which the service would be killed; InfiniteDuration without a watchdog.
  absl::Duration watchdog_interval() const { return watchdog_interval_; }

 private:
  void Send(const std::string& message) const;

  std::string socket_;
  absl::Duration watchdog_interval_ = absl::InfiniteDuration();
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_SERVICE_MANAGER_H_
