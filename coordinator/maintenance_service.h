// MaintenanceService: a copy of `state` for backups, while the coordinator runs.

#ifndef ONEFOLD_COORDINATOR_MAINTENANCE_SERVICE_H_
#define ONEFOLD_COORDINATOR_MAINTENANCE_SERVICE_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "coordinator/coordinator.h"
#include "onefold/v1/maintenance_service.grpc.pb.h"

namespace onefold {

// Thread-safe.
class MaintenanceService final : public v1::MaintenanceService::Service {
 public:
  // `state_directory`: the coordinator's; a copy that a crash left there is removed. `coordinator`
  // must outlive the service.
  MaintenanceService(const std::string& state_directory, Coordinator& coordinator);

  grpc::Status HoldCheckpoint(grpc::ServerContext* context,
                              grpc::ServerReaderWriter<v1::HoldCheckpointResponse,
                                                       v1::HoldCheckpointRequest>* stream) override;

 private:
  absl::Status Make();
  void Remove();

  const std::string directory_;
  Coordinator& coordinator_;
  std::atomic<bool> busy_ = false;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_MAINTENANCE_SERVICE_H_
