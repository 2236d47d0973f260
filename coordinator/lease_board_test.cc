#include "coordinator/lease_board.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

constexpr VolumeUuid kPool = {{1}};
constexpr VolumeUuid kOther = {{2}};

class LeaseBoardTest : public ::testing::Test {
 protected:
  std::optional<LeaseBoard::Grant> Acquire(const std::string& worker,
                                           const VolumeUuid& volume = kPool) {
    return board_.Acquire(volume, worker, now_);
  }
  absl::Duration now_ = absl::Hours(5);
  LeaseBoard board_{{.ttl = absl::Minutes(5)}};
};

// Two workers on one volume would plan against each other.
TEST_F(LeaseBoardTest, OneHolderAtATime) {
  ASSERT_TRUE(Acquire("a"));
  EXPECT_FALSE(Acquire("b"));
  EXPECT_TRUE(Acquire("b", kOther));
  now_ += absl::Minutes(5);
  EXPECT_TRUE(Acquire("b"));
  EXPECT_FALSE(Acquire("a"));
}

// A worker that got no answer asks again; its work goes on under the same lease.
TEST_F(LeaseBoardTest, HolderGetsItsLeaseAgain) {
  const auto first = Acquire("a");
  const auto second = Acquire("a");
  EXPECT_EQ(first->epoch, second->epoch);
  EXPECT_TRUE(first->is_new);
  EXPECT_FALSE(second->is_new);
}

// A worker that was away must not start operations that the next holder is halfway through.
TEST_F(LeaseBoardTest, LostLeaseIsStale) {
  const auto lost = Acquire("silent");
  now_ += absl::Minutes(6);
  EXPECT_THAT(board_.Renew(kPool, lost->epoch, now_), IsOk());  // nobody else asked
  now_ += absl::Minutes(6);
  const auto held = Acquire("next");
  EXPECT_GT(held->epoch, lost->epoch);
  EXPECT_THAT(board_.Renew(kPool, lost->epoch, now_), HasCode(absl::StatusCode::kAborted));
  EXPECT_THAT(board_.Renew(kPool, held->epoch + 1, now_), HasCode(absl::StatusCode::kAborted));
  EXPECT_THAT(board_.Renew(kOther, 1, now_), HasCode(absl::StatusCode::kAborted));
}

TEST_F(LeaseBoardTest, RequestsRenew) {
  const auto lease = Acquire("a");
  for (int i = 0; i < 5; ++i) {
    now_ += absl::Minutes(4);
    EXPECT_THAT(board_.Renew(kPool, lease->epoch, now_), IsOk());
    EXPECT_FALSE(Acquire("b"));
  }
  EXPECT_TRUE(Acquire("a")->worked);
}

// After a restart nobody knows how long the holder may go on.
TEST_F(LeaseBoardTest, RestoredLeaseKeepsOthersOut) {
  board_.Restore(kPool, 7, "a", now_);
  EXPECT_FALSE(Acquire("b"));
  now_ += absl::Minutes(5);
  EXPECT_EQ(Acquire("b")->epoch, 8);
}

// The next run of a program that was killed must not wait for its own lease.
TEST_F(LeaseBoardTest, HolderOfARestoredLeaseGetsANewOneAtOnce) {
  board_.Restore(kPool, 7, "a", now_);
  const auto lease = Acquire("a");
  EXPECT_EQ(lease->epoch, 8);
  EXPECT_TRUE(lease->is_new);
  EXPECT_THAT(board_.Renew(kPool, 7, now_), HasCode(absl::StatusCode::kAborted));
}

TEST_F(LeaseBoardTest, WorkerThatLivedOnGoesOn) {
  board_.Restore(kPool, 7, "a", now_);
  EXPECT_THAT(board_.Renew(kPool, 7, now_), IsOk());
  EXPECT_EQ(Acquire("a")->epoch, 7);
}

// A disk that is moved to another host must not wait for the lease of the first one.
TEST_F(LeaseBoardTest, GivenBackItIsFree) {
  const auto lease = Acquire("a");
  EXPECT_FALSE(board_.Release(kPool, "b", lease->epoch));
  EXPECT_FALSE(board_.Release(kPool, "a", lease->epoch - 1));
  EXPECT_FALSE(board_.Release(kOther, "a", lease->epoch));
  EXPECT_TRUE(board_.Release(kPool, "a", lease->epoch));
  EXPECT_FALSE(board_.Release(kPool, "a", lease->epoch));
  EXPECT_THAT(board_.Renew(kPool, lease->epoch, now_), HasCode(absl::StatusCode::kAborted));
  EXPECT_GT(Acquire("b")->epoch, lease->epoch);
}

// What is asked for once a lease is asked for again with the next run of the same worker.
TEST_F(LeaseBoardTest, TheNextLeaseOfTheSameWorkerIsANewOne) {
  const auto lease = Acquire("a");
  EXPECT_THAT(board_.Renew(kPool, lease->epoch, now_), IsOk());
  ASSERT_TRUE(board_.Release(kPool, "a", lease->epoch));
  EXPECT_FALSE(Acquire("a")->worked);
}

TEST_F(LeaseBoardTest, EpochOfARevokedGrantIsNotUsedAgain) {
  const auto grant = Acquire("a");
  board_.Revoke(kPool, grant->epoch);
  EXPECT_THAT(board_.Renew(kPool, grant->epoch, now_), HasCode(absl::StatusCode::kAborted));
  EXPECT_GT(Acquire("b")->epoch, grant->epoch);
}

}  // namespace
}  // namespace onefold::index
