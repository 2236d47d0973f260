#include "worker/daemon/throttle.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RateLimitTest, SpendsWhatASecondAllows) {
  RateLimit limit;
  absl::Duration now = absl::Hours(1);
  int64_t spent = 0;
  limit.SetRate(1000, now);
  while (now < absl::Hours(1) + absl::Seconds(100)) {
    const absl::Duration wait = limit.Wait(now);
    if (wait == absl::ZeroDuration()) {
      limit.Spend(300);
      spent += 300;
    } else {
      now += wait;
    }
  }
  EXPECT_NEAR(static_cast<double>(spent), 101'000, 2000);
}

// One operation may be larger than what a second allows; it must neither wait for ever nor come
// for free.
TEST(RateLimitTest, ALargeOperationIsPaidForAfterwards) {
  RateLimit limit;
  limit.SetRate(10, absl::ZeroDuration());
  EXPECT_EQ(limit.Wait(absl::ZeroDuration()), absl::ZeroDuration());
  limit.Spend(110);
  EXPECT_GE(limit.Wait(absl::ZeroDuration()), absl::Seconds(10));
  EXPECT_EQ(limit.Wait(absl::Seconds(10.1)), absl::ZeroDuration());
}

TEST(RateLimitTest, ChangesTakeEffectAtOnceAndNoneMeansNone) {
  RateLimit limit;
  limit.Spend(1'000'000);
  EXPECT_EQ(limit.Wait(absl::Seconds(5)), absl::ZeroDuration());
  limit.SetRate(10, absl::Seconds(5));
  limit.Spend(20);
  EXPECT_GT(limit.Wait(absl::Seconds(5)), absl::Milliseconds(900));
  limit.SetRate(1000, absl::Seconds(5));
  EXPECT_LT(limit.Wait(absl::Seconds(5)), absl::Milliseconds(20));
  limit.SetRate(-1, absl::Seconds(5));
  EXPECT_EQ(limit.Wait(absl::Seconds(5)), absl::ZeroDuration());
}

TEST(ThrottleTest, Diskstats) {
  const std::string text =
      "   8       0 sda 100 0 800 50 10 0 80 7 0 9 57\n"
      "   8      16 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
      "   8      32 sdbx 1 2 3 400 5 6 7 8 9 10 11\n"
      "garbage\n   7 0 loop0 x 0 0 0 0 0 0 0 0 0\n";
  const DiskTimes disks = ParseDiskstats(text, {"sda", "sdb", "loop0"});
  EXPECT_EQ(disks.operation_count, 116);
  EXPECT_EQ(disks.millis, 69);
  EXPECT_EQ(ParseDiskstats(text, {}).operation_count, 0);
}

TEST(ThrottleTest, Load) {
  EXPECT_EQ(ParseLoad("9.10 0.13 0.08 1/281 1234\n"), 9.1);
  EXPECT_FALSE(ParseLoad("").has_value());
}

TEST(PressureLimitTest, HoldsWhileTheMachineIsBusy) {
  PressureLimit limit;
  EXPECT_FALSE(limit.has_limits());
  limit.SetLimits(4, absl::ZeroDuration());
  EXPECT_THAT(limit.Judge(9.1, {}), "load 9.1 is above 4.0");
  EXPECT_THAT(limit.Judge(4.0, {}), IsEmpty());
  EXPECT_THAT(limit.Judge(std::nullopt, {}), IsEmpty());
}

TEST(PressureLimitTest, LatencyIsThatOfTheLastSample) {
  PressureLimit limit;
  limit.SetLimits(0, absl::Milliseconds(20));
  EXPECT_THAT(limit.Judge(99, {.operation_count = 1000, .millis = 1'000'000}), IsEmpty());
  EXPECT_THAT(limit.Judge(99, {.operation_count = 1010, .millis = 1'000'500}),
              HasSubstr("latency 50.0 ms is above 20.0 ms"));
  EXPECT_THAT(limit.Judge(99, {.operation_count = 1110, .millis = 1'000'600}), IsEmpty());
  // A single slow operation of an idle disk that spun up.
  EXPECT_THAT(limit.Judge(99, {.operation_count = 1111, .millis = 1'008'600}), IsEmpty());
}

}  // namespace
}  // namespace onefold
