#include "coordinator/identity/grpc_door.h"

#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "coordinator/identity/access_table.h"
#include "coordinator/identity/grpc_caller.h"

namespace onefold {
namespace {

constexpr char kPathKey[] = ":path";

class Door final : public grpc::AuthMetadataProcessor {
 public:
  Door(const Identity& identity, Clock& clock) : identity_(identity), clock_(clock) {}

  // Only memory is looked at.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* connection,
                       OutputMetadata*, OutputMetadata*) override {
    const auto path = metadata.find(kPathKey);
    const absl::string_view method =
        path == metadata.end() ? "" : absl::string_view(path->second.data(), path->second.size());
    return ToGrpcStatus(Admit(identity_, method, connection, clock_.Now()));
  }

 private:
  const Identity& identity_;
  Clock& clock_;
};

}  // namespace

absl::Status Admit(const Identity& identity, absl::string_view method,
                   const grpc::AuthContext* connection, absl::Time now) {
  ASSIGN_OR_RETURN(const ProvenCaller proven, ProvenCallerOf(connection));
  if (now >= proven.expire_time) return absl::UnauthenticatedError("the certificate has ended");
  if (identity.IsRevoked(proven.caller, proven.serial)) {
    return absl::UnauthenticatedError("the certificate was revoked");
  }
  return CheckAccess(method, proven.caller);
}

std::shared_ptr<grpc::AuthMetadataProcessor> MakeDoor(const Identity& identity, Clock& clock) {
  return std::make_shared<Door>(identity, clock);
}

}  // namespace onefold
