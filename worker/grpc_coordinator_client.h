// GrpcCoordinatorClient: the worker's end of the conversation over gRPC: a network channel or, on a
// single host, an in-process one.

#ifndef ONEFOLD_WORKER_GRPC_COORDINATOR_CLIENT_H_
#define ONEFOLD_WORKER_GRPC_COORDINATOR_CLIENT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "onefold/v1/coordinator_service.grpc.pb.h"
#include "worker/coordinator_client.h"
#include "worker/lease_watch.h"

namespace onefold {

// One client serves one volume. `stub` must outlive it. `worker_id` names this host.
std::unique_ptr<CoordinatorClient> NewGrpcCoordinatorClient(
    v1::CoordinatorService::StubInterface& stub, std::string worker_id);

// The same for a worker of a fleet: `watch` is told of each lease, and a coordinator that does not
// answer is given up. `clock` and `watch` must outlive the client.
std::unique_ptr<CoordinatorClient> NewLeasedCoordinatorClient(
    v1::CoordinatorService::StubInterface& stub, std::string worker_id, Clock& clock,
    LeaseWatch& watch);

// Gives back the lease of a run that has ended: another host, or the next run, need not wait for
// its end. To be tried once.
absl::Status ReleaseLease(v1::CoordinatorService::StubInterface& stub, const std::string& worker_id,
                          const VolumeState& state, int64_t epoch);

// Asks for the lease again that `state` describes the volume of. nullopt: the coordinator does not
// give it.
absl::StatusOr<std::optional<LeaseGrant>> RenewLease(v1::CoordinatorService::StubInterface& stub,
                                                     const std::string& worker_id,
                                                     const VolumeState& state, Clock& clock);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_GRPC_COORDINATOR_CLIENT_H_
