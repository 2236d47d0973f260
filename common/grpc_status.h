// The one place where our status becomes gRPC's and back. The codes are the same numbers.

#ifndef ONEFOLD_COMMON_GRPC_STATUS_H_
#define ONEFOLD_COMMON_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace onefold {

inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message()));
}

inline absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace onefold

#endif  // ONEFOLD_COMMON_GRPC_STATUS_H_
