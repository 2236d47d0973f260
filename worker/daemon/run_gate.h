// RunGate: the gate of one run: what its lease and its throttle let through.

#ifndef ONEFOLD_WORKER_DAEMON_RUN_GATE_H_
#define ONEFOLD_WORKER_DAEMON_RUN_GATE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "worker/daemon/fence.h"
#include "worker/daemon/run_ticket.h"
#include "worker/daemon/throttle.h"
#include "worker/operation_gate.h"

namespace onefold {

// What the machine does just now; tests give their own. Thread-safe.
class PressureSource {
 public:
  virtual ~PressureSource() = default;
  virtual std::optional<double> Load() = 0;
  virtual DiskTimes Disks() = 0;
};

// Asks the running system about the disks of one filesystem.
class SystemPressureSource final : public PressureSource {
 public:
  // Names of the filesystem's devices are in /sys/fs/btrfs/UUID/devices.
  explicit SystemPressureSource(const std::string& uuid);
  std::optional<double> Load() override;
  DiskTimes Disks() override;

 private:
  std::vector<std::string> devices_;
};

// Thread-safe.
class RunGate final : public OperationGate {
 public:
  // All must outlive the gate.
  RunGate(Clock& clock, Fence& fence, RunTicket& ticket, PressureSource& pressure)
      : clock_(clock), fence_(fence), ticket_(ticket), pressure_(pressure) {}

  void Wait(int64_t read_bytes, int64_t request_count, const StopSignal& stop) override;
  bool MayStart() override { return fence_.open(); }

  // One look: how long to wait, and why; zero: go on, and what was asked for is spent. What Wait
  // repeats.
  absl::Duration Ask(int64_t read_bytes, int64_t request_count, std::string& reason);

 private:
  Clock& clock_;
  Fence& fence_;
  RunTicket& ticket_;
  PressureSource& pressure_;
  Mutex mutex_;
  RateLimit bytes_ ABSL_GUARDED_BY(mutex_);
  RateLimit requests_ ABSL_GUARDED_BY(mutex_);
  PressureLimit limit_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_sample_ ABSL_GUARDED_BY(mutex_);
  std::string held_by_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_RUN_GATE_H_
