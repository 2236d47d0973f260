// Coordinator: index, state and service of one process, ready to be reached through gRPC.
//
// Owns everything below its state directory (mode 0700):
//   DIR/lock     held (flock) as long as the process lives; holds its pid
//   DIR/index    RocksDB, soft: rebuilt by scans          DIR/index/ONEFOLD_FORMAT says it is ours
//   DIR/state    RocksDB, small: what must not be lost (roots, options, run history, lease epochs)

#ifndef ONEFOLD_COORDINATOR_COORDINATOR_H_
#define ONEFOLD_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/ordered_store.h"
#include "coordinator/volume_rules.h"

namespace grpc {
class Service;
}

namespace onefold {

// What the index of one host is content with, and what a fleet's should get.
inline constexpr int64_t kHostMemoryBytes = int64_t{32} << 20;
inline constexpr int64_t kFleetMemoryBytes = int64_t{320} << 20;

class Coordinator {
 public:
  struct Options {
    std::string state_directory;  // created with mode 0700 if absent (parents too)
    VolumeRules rules = {};
    // What caches, runs of fingerprints under way and plans may take, about; at least
    // kHostMemoryBytes. The process needs some 50 MiB beside it. From kFleetMemoryBytes on the
    // index is laid out for many volumes that are scanned at a time.
    int64_t memory_bytes = kHostMemoryBytes;
    // The index takes nothing in while less is free on its disk, state while an eighth of it is; 0:
    // until it is full.
    int64_t free_bytes_min = 0;
    // How long a worker may go on without a word, see LeaseBoard.
    absl::Duration lease_ttl = absl::Minutes(5);
  };

  // Opens or creates the state directory. `clock` must outlive the coordinator.
  //
  // FAILED_PRECONDITION  another process holds it (the message has its pid), or `index` or `state`
  // is
  //                      foreign (has no format file of ours) or of a newer format: nothing was
  //                      touched; the message says what to do.
  // RESOURCE_EXHAUSTED   disk full; PERMISSION_DENIED etc.: the message names the path.
  // An index of ours that does not open is renamed `index.damaged-<UTC time>` and a new one is
  // made; `warnings()` tells.
  //
  // Sets the umask of the process to 077: RocksDB has no other way to keep its files private.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Open(const Options& options, Clock& clock);

  virtual ~Coordinator() = default;

  // The onefold.v1.CoordinatorService, for grpc::ServerBuilder::RegisterService. Lives as long as
  // the coordinator.
  virtual grpc::Service& service() = 0;

  // Sentences for people about what was noticed while opening.
  virtual const std::vector<std::string>& warnings() const = 0;

  // The record kept under `name` in `state` (serialised onefold.storage.v1 messages), or nullopt.
  virtual absl::StatusOr<std::optional<std::string>> GetRecord(const std::string& name) = 0;
  // Durable when it returns.
  virtual absl::Status PutRecord(const std::string& name, const std::string& bytes) = 0;
  // Names with the given prefix, ascending.
  virtual absl::StatusOr<std::vector<std::string>> ListRecords(const std::string& prefix) = 0;

  // The database `state`, for parts that keep rows of their own there. Lives as long as the
  // coordinator.
  virtual index::OrderedStore& state() = 0;

  // Makes `directory`, which must be absent and on the filesystem of the state directory, a copy of
  // `state` as it is now, ready to be opened. Costs next to no space.
  virtual absl::Status CheckpointState(const std::string& directory) = 0;

  // Makes this the coordinator of a fleet: hosts report to the service, leases go only to those
  // that have a run, and each may speak only of its own volumes. Call at most once, before the
  // service is reachable; Fleet::Tick is the caller's to call. The fleet lives as long as the
  // coordinator. `options.waiting_bytes` is filled in. DATA_LOSS as Fleet::Open.
  virtual absl::StatusOr<Fleet*> OpenFleet(Fleet::Options options) = 0;

  // Bytes that deleted rows still occupy are given back (compaction). Blocks.
  virtual absl::Status Compact() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_COORDINATOR_H_
