#include "worker/daemon/run_gate.h"

#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

class FakePressure final : public PressureSource {
 public:
  double load = 0;
  std::optional<double> Load() override { return load; }
  DiskTimes Disks() override { return {}; }
};

class RunGateTest : public ::testing::Test {
 protected:
  RunGateTest() { fence_.Granted({.epoch = 1, .asked_at = clock_.Monotonic(), .ttl = kTtl}); }
  static constexpr absl::Duration kTtl = absl::Minutes(5);

  FakeClock clock_;
  Fence fence_{clock_};
  RunTicket ticket_{{}};
  FakePressure pressure_;
  RunGate gate_{clock_, fence_, ticket_, pressure_};
  std::string reason_;
};

TEST_F(RunGateTest, WithoutLimitsNothingWaits) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(gate_.Ask(1 << 30, 1000, reason_), absl::ZeroDuration());
  }
}

TEST_F(RunGateTest, NoOperationStartsUnderALeaseThatRanOut) {
  EXPECT_TRUE(gate_.MayStart());
  clock_.Advance(kTtl);
  EXPECT_FALSE(gate_.MayStart());
  gate_.Wait(1, 1, ticket_.stop());  // does not hang either
}

TEST_F(RunGateTest, BytesAndRequests) {
  v1::RunThrottle throttle;
  throttle.set_read_bytes_per_second(1 << 20);
  throttle.set_requests_per_second(10);
  ticket_.SetThrottle(throttle);
  EXPECT_EQ(gate_.Ask(3 << 20, 1, reason_), absl::ZeroDuration());
  EXPECT_GT(gate_.Ask(1, 1, reason_), absl::Seconds(1));
  EXPECT_THAT(reason_, HasSubstr("1.0 MiB/s"));
  clock_.Advance(absl::Seconds(3));
  EXPECT_EQ(gate_.Ask(1, 100, reason_), absl::ZeroDuration());
  EXPECT_GT(gate_.Ask(1, 1, reason_), absl::Seconds(8));
  EXPECT_THAT(reason_, HasSubstr("10 requests/s"));
}

TEST_F(RunGateTest, HeldWhileTheLoadIsHigh) {
  v1::RunThrottle throttle;
  throttle.set_load_max(4);
  ticket_.SetThrottle(throttle);
  pressure_.load = 5;
  EXPECT_GT(gate_.Ask(1, 1, reason_), absl::ZeroDuration());
  EXPECT_THAT(reason_, HasSubstr("load 5.0"));
  pressure_.load = 3;
  EXPECT_GT(gate_.Ask(1, 1, reason_), absl::ZeroDuration());  // until the next sample
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(gate_.Ask(1, 1, reason_), absl::ZeroDuration());
}

// A stop must not wait for a quiet moment.
TEST_F(RunGateTest, AStopEndsTheWaiting) {
  v1::RunThrottle throttle;
  throttle.set_load_max(4);
  ticket_.SetThrottle(throttle);
  pressure_.load = 5;
  ticket_.stop().Request(StopSignal::Reason::kInterrupted);
  gate_.Wait(1, 1, ticket_.stop());
}

}  // namespace
}  // namespace onefold
