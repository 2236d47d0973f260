// Caller of a gRPC call.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_GRPC_CALLER_H_
#define ONEFOLD_COORDINATOR_IDENTITY_GRPC_CALLER_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/identity/caller.h"

namespace onefold {

// Who calls, from the connection's certificate. Without TLS: kLocal, with the role admin.
//
// Whether the method is allowed and the certificate still valid was decided before (grpc_door.h);
// services ask this to know for whom they work.
//
// UNAUTHENTICATED: a certificate of our authority that names neither a host nor a user.
absl::StatusOr<Caller> CallerOf(const grpc::ServerContext& context);

struct ProvenCaller {
  Caller caller;
  // Of the certificate; without one: empty, and never.
  std::string serial;
  absl::Time expire_time = absl::InfiniteFuture();
};

// The same, with what the door looks at. `connection` may be null: no TLS.
absl::StatusOr<ProvenCaller> ProvenCallerOf(const grpc::AuthContext* connection);

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_GRPC_CALLER_H_
