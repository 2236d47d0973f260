#include "worker/daemon/lease_keeper.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

// Two tries may fail before the lease is in danger.
constexpr int kRenewalsPerLease = 3;
constexpr absl::Duration kRetryMax = absl::Seconds(10);
constexpr absl::Duration kRetryMin = absl::Milliseconds(100);

}  // namespace

LeaseKeeper::LeaseKeeper(Clock& clock, Fence& fence, Renew renew, Lost lost)
    : clock_(clock), fence_(fence), renew_(std::move(renew)), lost_(std::move(lost)) {}

LeaseKeeper::~LeaseKeeper() { Stop(); }

std::optional<VolumeState> LeaseKeeper::Stop() {
  {
    MutexLock lock(&mutex_);
    done_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  if (!fence_.open()) return std::nullopt;
  MutexLock lock(&mutex_);
  return state_;
}

void LeaseKeeper::Start() {
  thread_ = std::thread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "onefold-lease");
}

void LeaseKeeper::Granted(const VolumeState& state, const LeaseGrant& grant) {
  fence_.Granted(grant);
  MutexLock lock(&mutex_);
  state_ = state;
  next_ = grant.asked_at + grant.ttl / kRenewalsPerLease;
  changed_.NotifyAll();
}

absl::Duration LeaseKeeper::Step() {
  std::optional<VolumeState> state;
  {
    MutexLock lock(&mutex_);
    if (!state_.has_value() || told_) return absl::InfiniteDuration();
    if (fence_.open() && clock_.Monotonic() < next_) return next_;
    state = state_;
  }
  if (fence_.lost()) {
    TellLost("the lease went to another run");
    return absl::InfiniteDuration();
  }
  const std::optional<LeaseGrant> before = fence_.latest();
  const absl::Duration ends_at = before->asked_at + before->ttl;
  if (clock_.Monotonic() >= ends_at) {
    TellLost("the coordinator could not be reached before the lease ran out");
    return absl::InfiniteDuration();
  }
  const absl::StatusOr<std::optional<LeaseGrant>> grant = renew_(*state);
  const absl::Duration now = clock_.Monotonic();
  absl::Duration next;
  if (grant.ok() && grant->has_value()) {
    fence_.Granted(**grant);
    if (fence_.lost()) {
      TellLost("the lease was given anew: the coordinator was restarted");
      return absl::InfiniteDuration();
    }
    next = (*grant)->asked_at + (*grant)->ttl / kRenewalsPerLease;
  } else if (grant.ok() || absl::IsAborted(grant.status()) ||
             absl::IsPermissionDenied(grant.status()) ||
             absl::IsFailedPrecondition(grant.status())) {
    fence_.Lose();
    TellLost(grant.ok() ? std::string("the coordinator gave the volume to somebody else")
                        : absl::StrCat("the lease is not renewed: ", grant.status().message()));
    return absl::InfiniteDuration();
  } else {
    next = now + std::clamp((ends_at - now) / 4, kRetryMin, kRetryMax);
    next = std::min(next, std::max(ends_at, now));
  }
  MutexLock lock(&mutex_);
  next_ = std::max(next, now + kRetryMin / 10);
  return next_;
}

void LeaseKeeper::TellLost(std::string reason) {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(told_, true)) return;
  }
  lost_(std::move(reason));
}

void LeaseKeeper::Loop() {
  while (true) {
    const absl::Duration next = Step();
    // The clock of waiting may stand still in suspend, and a lease may come at any time.
    constexpr absl::Duration kStepMax = absl::Seconds(10);
    const absl::Duration wait =
        std::clamp(next - clock_.Monotonic(), absl::Milliseconds(1), kStepMax);
    MutexLock lock(&mutex_);
    if (done_) return;
    if (next_ < next) continue;  // granted meanwhile
    changed_.WaitFor(&mutex_, absl::ToChronoMilliseconds(wait));
    if (done_) return;
  }
}

}  // namespace onefold
