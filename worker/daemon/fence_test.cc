#include "worker/daemon/fence.h"

#include "common/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

class FenceTest : public ::testing::Test {
 protected:
  LeaseGrant Grant(int64_t epoch, absl::Duration asked_ago = absl::ZeroDuration()) {
    return {.epoch = epoch, .asked_at = clock_.Monotonic() - asked_ago, .ttl = absl::Minutes(5)};
  }
  FakeClock clock_;
  Fence fence_{clock_};
};

TEST_F(FenceTest, ClosedWithoutALease) { EXPECT_FALSE(fence_.open()); }

// A slow answer must not make the lease last longer than the coordinator thinks.
TEST_F(FenceTest, TheTimeCountsFromTheQuestion) {
  fence_.Granted(Grant(1, absl::Minutes(4)));
  EXPECT_TRUE(fence_.open());
  clock_.Advance(absl::Seconds(60));
  EXPECT_FALSE(fence_.open());
  fence_.Granted(Grant(1));  // nobody else had it meanwhile
  EXPECT_TRUE(fence_.open());
}

TEST_F(FenceTest, AnOlderAnswerDoesNotShortenIt) {
  fence_.Granted(Grant(1));
  fence_.Granted(Grant(1, absl::Minutes(4)));
  clock_.Advance(absl::Minutes(4));
  EXPECT_TRUE(fence_.open());
}

// Somebody else may have worked on the volume in between.
TEST_F(FenceTest, AnotherEpochIsAnotherLease) {
  fence_.Granted(Grant(1));
  fence_.Granted(Grant(2));
  EXPECT_FALSE(fence_.open());
  EXPECT_TRUE(fence_.lost());
}

TEST_F(FenceTest, LostIsLost) {
  fence_.Granted(Grant(1));
  fence_.Lose();
  fence_.Granted(Grant(1));
  EXPECT_FALSE(fence_.open());
}

}  // namespace
}  // namespace onefold
