// The connection of a person's command to a coordinator.

#ifndef ONEFOLD_CLI_FLEET_GRPC_CHANNEL_H_
#define ONEFOLD_CLI_FLEET_GRPC_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/fleet/connection.h"

namespace onefold {

// Dials with the first call. PERMISSION_DENIED: plain text would leave this machine and `insecure`
// is not given.
absl::StatusOr<std::shared_ptr<grpc::Channel>> NewCoordinatorChannel(const Connection& connection,
                                                                     bool insecure);

// gRPC's own words for what went wrong on the way, in words of people who run it. `plain_text`: as
// the connection is.
absl::Status ClarifyCallStatus(const absl::Status& status, bool plain_text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_GRPC_CHANNEL_H_
