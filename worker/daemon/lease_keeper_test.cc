#include "worker/daemon/lease_keeper.h"

#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Answer = absl::StatusOr<std::optional<LeaseGrant>>;

class LeaseKeeperTest : public ::testing::Test {
 protected:
  LeaseGrant Grant(int64_t epoch) {
    return {.epoch = epoch, .asked_at = clock_.Monotonic(), .ttl = absl::Minutes(5)};
  }
  void Begin() { keeper_.Granted({}, Grant(1)); }
  // What the thread would do for `span`.
  void Live(absl::Duration span) {
    const absl::Duration end = clock_.Monotonic() + span;
    while (clock_.Monotonic() < end) {
      const absl::Duration next = keeper_.Step();
      clock_.Advance(std::min(std::max(next, clock_.Monotonic()), end) - clock_.Monotonic());
    }
    keeper_.Step();
  }

  FakeClock clock_;
  Fence fence_{clock_};
  std::function<Answer()> answer_ = [this]() -> Answer { return Grant(1); };
  int asked_ = 0;
  std::vector<std::string> lost_;
  LeaseKeeper keeper_{clock_, fence_,
                      [this](const VolumeState&) {
                        ++asked_;
                        return answer_();
                      },
                      [this](std::string reason) { lost_.push_back(std::move(reason)); }};
};

TEST_F(LeaseKeeperTest, NothingToKeepBeforeThereIsALease) {
  EXPECT_EQ(keeper_.Step(), absl::InfiniteDuration());
  EXPECT_EQ(asked_, 0);
}

TEST_F(LeaseKeeperTest, AnHourWithoutAWordIsNoReasonToStop) {
  Begin();
  for (int i = 0; i < 60; ++i) {
    Live(absl::Minutes(1));
    EXPECT_TRUE(fence_.open());
  }
  EXPECT_EQ(asked_, 36);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(LeaseKeeperTest, ACoordinatorThatIsAwayForAShortWhileIsAskedAgain) {
  Begin();
  answer_ = [] { return absl::UnavailableError("away"); };
  Live(absl::Minutes(4));
  EXPECT_TRUE(fence_.open());
  answer_ = [this]() -> Answer { return Grant(1); };
  Live(absl::Minutes(10));
  EXPECT_TRUE(fence_.open());
  EXPECT_THAT(lost_, IsEmpty());
}

// What the lease allows is used, and not a moment more.
TEST_F(LeaseKeeperTest, ACoordinatorThatStaysAwayEndsTheWorkInTime) {
  Begin();
  answer_ = [] { return absl::UnavailableError("away"); };
  Live(absl::Minutes(5) - absl::Milliseconds(1));
  EXPECT_TRUE(fence_.open());
  EXPECT_THAT(lost_, IsEmpty());
  Live(absl::Seconds(1));
  EXPECT_FALSE(fence_.open());
  EXPECT_THAT(lost_, ElementsAre(HasSubstr("could not be reached")));
  const int asked = asked_;
  Live(absl::Hours(1));
  EXPECT_EQ(asked_, asked);
  EXPECT_THAT(lost_, ElementsAre(HasSubstr("could not be reached")));
}

TEST_F(LeaseKeeperTest, ALeaseThatIsNotGivenAgainIsLostAtOnce) {
  for (const Answer& answer :
       {Answer(std::nullopt), Answer(absl::AbortedError("stale")),
        Answer(absl::PermissionDeniedError("no")), Answer(absl::FailedPreconditionError("no"))}) {
    Fence fence(clock_);
    std::vector<std::string> lost;
    LeaseKeeper keeper(
        clock_, fence, [&](const VolumeState&) { return answer; },
        [&](std::string reason) { lost.push_back(std::move(reason)); });
    keeper.Granted({}, Grant(1));
    clock_.Advance(absl::Minutes(2));
    keeper.Step();
    EXPECT_FALSE(fence.open());
    EXPECT_EQ(lost.size(), 1u);
  }
}

TEST_F(LeaseKeeperTest, AnotherEpochEndsTheWork) {
  Begin();
  answer_ = [this]() -> Answer { return Grant(2); };
  Live(absl::Minutes(2));
  EXPECT_FALSE(fence_.open());
  EXPECT_THAT(lost_, ElementsAre(HasSubstr("anew")));
}

TEST_F(LeaseKeeperTest, ItsThreadEndsWithIt) {
  keeper_.Start();
  Begin();
}

}  // namespace
}  // namespace onefold
