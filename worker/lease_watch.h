// LeaseWatch: learns of the leases that a conversation with the coordinator gets.

#ifndef ONEFOLD_WORKER_LEASE_WATCH_H_
#define ONEFOLD_WORKER_LEASE_WATCH_H_

#include <cstdint>

#include "absl/time/time.h"
#include "worker/coordinator_client.h"

namespace onefold {

// Permission to work on a volume for a while.
struct LeaseGrant {
  int64_t epoch = 0;
  // When the request was sent that was answered with it (Clock::Monotonic): `ttl` counts from then,
  // so that a slow answer makes it shorter, never longer.
  absl::Duration asked_at;
  absl::Duration ttl;
};

class LeaseWatch {
 public:
  virtual ~LeaseWatch() = default;
  // `state`: what the coordinator was told to get it. Called by the thread that asked.
  virtual void Granted(const VolumeState& state, const LeaseGrant& grant) = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_LEASE_WATCH_H_
