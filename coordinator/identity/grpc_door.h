// The door of the coordinator's TLS port: every call of every service passes it before its handler
// runs, so that no service can forget to ask.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_GRPC_DOOR_H_
#define ONEFOLD_COORDINATOR_IDENTITY_GRPC_DOOR_H_

#include <grpcpp/security/auth_metadata_processor.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/identity/identity.h"

namespace onefold {

// For FleetServerCredentials (common/grpc_credentials.h). Admits a call if the table says so
// (access_table.h) and the caller's certificate has neither ended since the connection was made nor
// been revoked. Both must outlive the server.
//
// A stream that is open when its caller is revoked is ended by LiveCalls (grpc_live_calls.h).
std::shared_ptr<grpc::AuthMetadataProcessor> MakeDoor(const Identity& identity, Clock& clock);

// The decision itself. `method`: as on the wire.
absl::Status Admit(const Identity& identity, absl::string_view method,
                   const grpc::AuthContext* connection, absl::Time now);

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_GRPC_DOOR_H_
