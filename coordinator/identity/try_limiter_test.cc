#include "coordinator/identity/try_limiter.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

TEST(TryLimiterTest, TenTriesAndThenTheyComeBack) {
  TryLimiter limiter;
  for (int i = 0; i < TryLimiter::kTriesMax; ++i) {
    EXPECT_TRUE(limiter.MayTry("a", kNow)) << i;
    limiter.CountWrongTry("a", kNow);
  }
  EXPECT_FALSE(limiter.MayTry("a", kNow));
  EXPECT_FALSE(limiter.MayTry("a", kNow - absl::Hours(1)));
  EXPECT_TRUE(limiter.MayTry("b", kNow));
  EXPECT_TRUE(limiter.MayTry("a", kNow + TryLimiter::kTryReturns));
}

// Whoever has a million addresses must not fill the memory, nor lock out those who wait.
TEST(TryLimiterTest, PeersAreBounded) {
  TryLimiter limiter;
  for (int i = 0; i < 5000; ++i) limiter.CountWrongTry(absl::StrCat("peer", i), kNow);
  EXPECT_EQ(limiter.peer_count(), TryLimiter::kPeersMax);
  EXPECT_FALSE(limiter.MayTry("new", kNow));
  const absl::Time later = kNow + absl::Hours(100);
  EXPECT_TRUE(limiter.MayTry("new", later));
  limiter.CountWrongTry("new", later);
  EXPECT_EQ(limiter.peer_count(), 1u);
}

}  // namespace
}  // namespace onefold::identity
