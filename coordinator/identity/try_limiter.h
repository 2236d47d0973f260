// TryLimiter: slows down who tries wrong tokens. A secret of 128 bits is not guessed; this keeps
// the log readable and the processor free.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_TRY_LIMITER_H_
#define ONEFOLD_COORDINATOR_IDENTITY_TRY_LIMITER_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace onefold::identity {

// Each peer has a number of wrong tries that comes back with time. Not thread-safe.
class TryLimiter {
 public:
  static constexpr double kTriesMax = 10;
  static constexpr absl::Duration kTryReturns = absl::Seconds(30);
  // Peers that are remembered; those beyond share one account.
  static constexpr size_t kPeersMax = 1024;

  // Whether `peer` may try now. Peers that never tried a wrong one are never refused.
  bool MayTry(const std::string& peer, absl::Time now);
  void CountWrongTry(const std::string& peer, absl::Time now);

  size_t peer_count() const { return peers_.size(); }

 private:
  struct Account {
    double wrong_tries = 0;
    absl::Time as_of;
  };
  static double WrongTries(const Account& account, absl::Time now);

  std::map<std::string, Account> peers_;
  Account others_;
};

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_TRY_LIMITER_H_
