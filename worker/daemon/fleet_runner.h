// FleetRunner: carries out one part of a run with RunVolume, within what the host allows, under a
// lease that is kept, as hard as the order says. Thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_FLEET_RUNNER_H_
#define ONEFOLD_WORKER_DAEMON_FLEET_RUNNER_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/uuid.h"
#include "worker/daemon/fleet_link.h"
#include "worker/daemon/run_desk.h"
#include "worker/daemon/run_target.h"

namespace onefold {

// A conversation about a volume with the coordinator that serves it.
using ConnectVolume = std::function<absl::StatusOr<std::unique_ptr<VolumeLink>>(
    const VolumeUuid& volume, LeaseWatch& watch)>;

class FleetRunner final : public Runner {
 public:
  // `clock` must outlive the runner.
  FleetRunner(HostLimits limits, Clock& clock, ConnectVolume connect)
      : limits_(std::move(limits)), clock_(clock), connect_(std::move(connect)) {}

  End Run(const v1::RunOrder& order, RunTicket& ticket, VolumeReport& report) override;

 private:
  End Work(const RunTarget& target, RunTicket& ticket, VolumeReport& report);

  const HostLimits limits_;
  Clock& clock_;
  const ConnectVolume connect_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_FLEET_RUNNER_H_
