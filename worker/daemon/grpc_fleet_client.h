// GrpcFleetClient: coordinators over gRPC, one channel for each address.

#ifndef ONEFOLD_WORKER_DAEMON_GRPC_FLEET_CLIENT_H_
#define ONEFOLD_WORKER_DAEMON_GRPC_FLEET_CLIENT_H_

#include <grpcpp/channel.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/mutex.h"
#include "worker/daemon/worker_daemon.h"

namespace onefold {

// A channel to the coordinator at an address from the configuration or from another coordinator.
// INVALID_ARGUMENT, PERMISSION_DENIED: it must not or cannot be dialled.
using ChannelFactory =
    std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>(const std::string& address)>;

// Thread-safe.
class GrpcFleetClient final : public FleetLinks {
 public:
  // `home`: the configured coordinator. `clock` must outlive this object.
  GrpcFleetClient(std::string worker_id, Clock& clock, std::shared_ptr<grpc::Channel> home,
                  ChannelFactory make_channel);
  ~GrpcFleetClient() override;

  FleetLink& Home() override;
  absl::StatusOr<FleetLink*> To(const std::string& address) override;

 private:
  class Link;

  const std::string worker_id_;
  Clock& clock_;
  const ChannelFactory make_channel_;
  const std::unique_ptr<Link> home_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Link>> links_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_GRPC_FLEET_CLIENT_H_
