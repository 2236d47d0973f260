#include "worker/daemon/fence.h"

namespace onefold {

void Fence::Granted(const LeaseGrant& grant) {
  MutexLock lock(&mutex_);
  if (latest_.has_value() && latest_->epoch != grant.epoch) lost_ = true;
  // Answers may overtake each other.
  if (latest_.has_value() && grant.asked_at + grant.ttl < latest_->asked_at + latest_->ttl) return;
  latest_ = grant;
}

void Fence::Lose() {
  MutexLock lock(&mutex_);
  lost_ = true;
}

bool Fence::open() {
  MutexLock lock(&mutex_);
  return !lost_ && latest_.has_value() && clock_.Monotonic() < latest_->asked_at + latest_->ttl;
}

bool Fence::lost() {
  MutexLock lock(&mutex_);
  return lost_;
}

std::optional<LeaseGrant> Fence::latest() {
  MutexLock lock(&mutex_);
  return latest_;
}

}  // namespace onefold
