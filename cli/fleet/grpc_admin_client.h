// The coordinator's AdminService over gRPC.

#ifndef ONEFOLD_CLI_FLEET_GRPC_ADMIN_CLIENT_H_
#define ONEFOLD_CLI_FLEET_GRPC_ADMIN_CLIENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cli/fleet/admin_client.h"
#include "cli/fleet/connection.h"

namespace onefold {

// Dials with the first call. PERMISSION_DENIED: plain text would leave this machine and `insecure`
// is not given.
absl::StatusOr<std::unique_ptr<AdminClient>> NewGrpcAdminClient(const Connection& connection,
                                                                bool insecure);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_GRPC_ADMIN_CLIENT_H_
