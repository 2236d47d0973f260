// GrpcCoordinatorClient: the worker's end of the conversation over gRPC: a network channel or, on a
// single host, an in-process one.

#ifndef ONEFOLD_WORKER_GRPC_COORDINATOR_CLIENT_H_
#define ONEFOLD_WORKER_GRPC_COORDINATOR_CLIENT_H_

#include <memory>
#include <string>

#include "onefold/v1/coordinator_service.grpc.pb.h"
#include "worker/coordinator_client.h"

namespace onefold {

// One client serves one volume. `stub` must outlive it. `worker_id` names this host.
std::unique_ptr<CoordinatorClient> NewGrpcCoordinatorClient(
    v1::CoordinatorService::StubInterface& stub, std::string worker_id);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_GRPC_COORDINATOR_CLIENT_H_
