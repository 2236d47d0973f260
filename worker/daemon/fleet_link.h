// The worker's end of a conversation with one coordinator, in messages. Real: grpc_fleet_client.h;
// tests have their own.

#ifndef ONEFOLD_WORKER_DAEMON_FLEET_LINK_H_
#define ONEFOLD_WORKER_DAEMON_FLEET_LINK_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/uuid.h"
#include "onefold/v1/coordinator_service.pb.h"
#include "worker/coordinator_client.h"
#include "worker/lease_watch.h"

namespace onefold {

// What a run speaks through. Not thread-safe but for Renew.
class VolumeLink {
 public:
  virtual ~VolumeLink() = default;
  virtual CoordinatorClient& client() = 0;
  // See LeaseKeeper.
  virtual absl::StatusOr<std::optional<LeaseGrant>> Renew(const VolumeState& state) = 0;
  // The run has ended; see ReleaseLease.
  virtual absl::Status Release(const VolumeState& state, int64_t epoch) = 0;
};

// Thread-safe. Calls block, but not for ever.
class FleetLink {
 public:
  virtual ~FleetLink() = default;
  virtual absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request) = 0;
  // Where the volume is served; empty: here.
  virtual absl::StatusOr<std::string> GetAssignment(const VolumeUuid& volume) = 0;
  // A conversation about one volume. `watch` must outlive it, as must this link.
  virtual std::unique_ptr<VolumeLink> NewVolumeLink(LeaseWatch& watch) = 0;
  // Breaks off what is under way.
  virtual void Cancel() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_FLEET_LINK_H_
