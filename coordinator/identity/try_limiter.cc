#include "coordinator/identity/try_limiter.h"

#include <algorithm>

namespace onefold::identity {

double TryLimiter::WrongTries(const Account& account, absl::Time now) {
  // A clock that was set back gives nothing back.
  const absl::Duration passed = std::max(absl::ZeroDuration(), now - account.as_of);
  return std::max(0.0, account.wrong_tries - absl::FDivDuration(passed, kTryReturns));
}

bool TryLimiter::MayTry(const std::string& peer, absl::Time now) {
  const auto found = peers_.find(peer);
  if (found != peers_.end()) return WrongTries(found->second, now) <= kTriesMax - 1;
  return peers_.size() < kPeersMax || WrongTries(others_, now) <= kTriesMax - 1;
}

void TryLimiter::CountWrongTry(const std::string& peer, absl::Time now) {
  if (peers_.size() >= kPeersMax && peers_.count(peer) == 0) {
    std::erase_if(peers_, [now](const auto& entry) { return WrongTries(entry.second, now) == 0; });
  }
  Account& account = peers_.size() < kPeersMax || peers_.count(peer) != 0 ? peers_[peer] : others_;
  account = {.wrong_tries = WrongTries(account, now) + 1, .as_of = now};
}

}  // namespace onefold::identity
