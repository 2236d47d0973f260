// LeaseKeeper: renews the lease of one run while it is under way. A run may go on for hours without
// a word to the coordinator (it reads files), so its lease has a thread of its own.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_LEASE_KEEPER_H_
#define ONEFOLD_WORKER_DAEMON_LEASE_KEEPER_H_

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "worker/daemon/fence.h"
#include "worker/lease_watch.h"

namespace onefold {

class LeaseKeeper final : public LeaseWatch {
 public:
  // Asks for the lease again; nullopt: it is not given. Blocks for a bounded time.
  using Renew = std::function<absl::StatusOr<std::optional<LeaseGrant>>(const VolumeState&)>;
  // The lease is gone for good, or nobody could be reached until it ran out; `reason` is for
  // people. Called once at most.
  using Lost = std::function<void(std::string reason)>;

  // All must outlive this object.
  LeaseKeeper(Clock& clock, Fence& fence, Renew renew, Lost lost);
  ~LeaseKeeper() override;
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  // Keeps it from now on, in a thread of its own.
  void Start();

  void Granted(const VolumeState& state, const LeaseGrant& grant) override;

  // Renews no more. Returns what the lease was given for, if it is still good.
  std::optional<VolumeState> Stop();

  // Renews if it is time. Returns when to come again; InfiniteDuration: never. What the thread
  // does.
  absl::Duration Step();

 private:
  void Loop();
  void TellLost(std::string reason);

  Clock& clock_;
  Fence& fence_;
  const Renew renew_;
  const Lost lost_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<VolumeState> state_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  bool told_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_LEASE_KEEPER_H_
