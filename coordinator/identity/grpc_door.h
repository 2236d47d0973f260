// The door of the coordinator's TLS port: every call of every service passes it before its handler
// runs, so that no service can forget to ask.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_GRPC_DOOR_H_
#define ONEFOLD_COORDINATOR_IDENTITY_GRPC_DOOR_H_

#include <grpcpp/security/auth_metadata_processor.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/identity/identity.h"

namespace onefold {

// For ServerCredentials::SetAuthMetadataProcessor (ServerCredentialsOptions::door). Admits a call
// if the table says so (access_table.h) and the caller's certificate was not revoked. `identity`
// must outlive the server.
//
// A stream that is open when its caller is revoked goes on until it ends; its next call is refused.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeDoor(const Identity& identity);

// The decision itself. `method`: as on the wire.
absl::Status Admit(const Identity& identity, absl::string_view method,
                   const grpc::AuthContext* connection);

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_GRPC_DOOR_H_
