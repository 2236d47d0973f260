// What all simulated workers share: how they are named, and how they reach the coordinator.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_FLEET_CONNECTION_H_
#define ONEFOLD_BENCH_FLEET_LOAD_FLEET_CONNECTION_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "worker/coordinator_client.h"

namespace onefold::bench {

// A connection of its own, as each host has one.
std::shared_ptr<grpc::Channel> Connect(const std::string& address);

std::string WorkerId(int64_t worker);
VolumeUuid UuidOf(int64_t volume);
VolumeState StateOf(int64_t volume);

// A client of one volume that has got its lease.
class LeasedVolume {
 public:
  static absl::StatusOr<std::unique_ptr<LeasedVolume>> Open(const std::string& address,
                                                            int64_t volume);
  ~LeasedVolume();
  CoordinatorClient& client() { return *client_; }

 private:
  struct Stub;
  explicit LeasedVolume(std::unique_ptr<Stub> stub, std::unique_ptr<CoordinatorClient> client);

  const std::unique_ptr<Stub> stub_;
  const std::unique_ptr<CoordinatorClient> client_;
};

// Waits until somebody answers at `address`.
absl::Status AwaitServer(const std::string& address, absl::Duration patience);

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_FLEET_CONNECTION_H_
