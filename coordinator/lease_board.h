// LeaseBoard decides who works on which volume. It owns no clock, disk or socket: callers pass
// `now` (Clock::Monotonic) and keep what must outlive a restart.
//
// Epochs grow with every hand-out. A lease that ran out stays good until somebody else gets one:
// the epoch alone decides whether a request is stale.
//
// Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_LEASE_BOARD_H_
#define ONEFOLD_COORDINATOR_LEASE_BOARD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/uuid.h"

namespace onefold::index {

class LeaseBoard {
 public:
  struct Options {
    absl::Duration ttl = absl::Minutes(5);
  };
  struct Grant {
    int64_t epoch = 0;
    bool is_new = false;  // to be made durable before it is told
    bool worked = false;  // requests were made under it
  };

  explicit LeaseBoard(Options options) : options_(options) {}

  // Takes over the latest lease of an earlier life. Other workers wait until it must have run out;
  // its holder, whose process may be a new one too, gets a new epoch.
  void Restore(const VolumeUuid& volume, int64_t epoch, const std::string& worker,
               absl::Duration now);

  // A lease for `worker`: the one it holds, renewed, or a new one. nullopt while another has it.
  std::optional<Grant> Acquire(const VolumeUuid& volume, const std::string& worker,
                               absl::Duration now);

  // Takes back a new grant that could not be made durable. Its epoch is not used again.
  void Revoke(const VolumeUuid& volume, int64_t epoch);

  // `worker` gives its lease back: others need not wait for its end. Says whether it had it.
  bool Release(const VolumeUuid& volume, const std::string& worker, int64_t epoch);

  // Renews the lease a request was made under. ABORTED: it is not the latest one.
  absl::Status Renew(const VolumeUuid& volume, int64_t epoch, absl::Duration now);

  absl::Duration ttl() const { return options_.ttl; }

 private:
  struct Entry {
    int64_t epoch = 0;
    std::string worker = {};  // empty: nobody
    absl::Duration expires_at = absl::ZeroDuration();
    bool restored = false;
    bool worked = false;
  };

  const Options options_;
  std::map<VolumeUuid, Entry> entries_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_LEASE_BOARD_H_
