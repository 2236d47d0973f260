// Throttle: how hard a run may work, as decisions. RateLimit spends bytes and requests of a second;
// PressureLimit says when the machine has enough to do already. Pure; RunGate (run_gate.h) waits.
//
// Not thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_THROTTLE_H_
#define ONEFOLD_WORKER_DAEMON_THROTTLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onefold {

// So much in a second, with a second's worth at once: operations are larger than a moment's share.
// What is spent beyond it has to be waited for afterwards.
class RateLimit {
 public:
  // `per_second`: 0: no limit.
  void SetRate(int64_t per_second, absl::Duration now);
  // How long to wait before anything more may be spent.
  absl::Duration Wait(absl::Duration now);
  void Spend(int64_t amount) { credit_ -= static_cast<double>(amount); }

 private:
  void Refill(absl::Duration now);

  int64_t per_second_ = 0;
  double credit_ = 0;
  absl::Duration filled_at_;
};

// Of one device since the system started, from /proc/diskstats.
struct DiskTimes {
  int64_t operation_count = 0;
  int64_t millis = 0;  // summed over operations
};
// Sums over the devices named ("sda", "loop0") in the text of /proc/diskstats. What is not there
// counts as nothing.
DiskTimes ParseDiskstats(absl::string_view text, const std::vector<std::string>& devices);

// The load average of one minute, of the text of /proc/loadavg.
std::optional<double> ParseLoad(absl::string_view text);

// Judges samples that are taken about once a second.
class PressureLimit {
 public:
  // `load_max`, `latency_max`: 0: no limit.
  void SetLimits(double load_max, absl::Duration latency_max);
  bool has_limits() const { return load_max_ > 0 || latency_max_ > absl::ZeroDuration(); }
  // Why work should be held up until the next sample; empty: go on.
  std::string Judge(std::optional<double> load, const DiskTimes& disks);

 private:
  double load_max_ = 0;
  absl::Duration latency_max_;
  std::optional<DiskTimes> before_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_THROTTLE_H_
