#include "worker/daemon/waker.h"

#include <thread>

#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(WakerTest, WokenBeforeAndWhileItWaits) {
  Waker waker("/does/not/exist");
  waker.Wake();
  waker.Wake();
  EXPECT_EQ(waker.Wait(absl::Hours(1)), Waker::Reason::kWoken);
  EXPECT_EQ(waker.Wait(absl::ZeroDuration()), Waker::Reason::kTime);
  std::thread other([&] { waker.Wake(); });
  EXPECT_EQ(waker.Wait(absl::Hours(1)), Waker::Reason::kWoken);
  other.join();
}

TEST(WakerTest, TimePasses) {
  Waker waker;
  EXPECT_EQ(waker.Wait(absl::Milliseconds(1)), Waker::Reason::kTime);
  EXPECT_EQ(waker.Wait(-absl::InfiniteDuration()), Waker::Reason::kTime);
}

}  // namespace
}  // namespace onefold
