#include "coordinator/fleet/window.h"

#include <string>
#include <vector>

#include "common/check.h"
#include "common/testing/status_matchers.h"
#include "common/uuid.h"
#include "coordinator/fleet/jitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::fleet {
namespace {

class WindowTest : public ::testing::Test {
 protected:
  WindowTest() { CHECK(absl::LoadTimeZone("Europe/Berlin", &zone_)); }

  static std::vector<MaintenanceWindow> Make(const std::vector<std::string>& texts) {
    std::vector<MaintenanceWindow> windows;
    for (const std::string& text : texts) {
      absl::StatusOr<MaintenanceWindow> window = MaintenanceWindow::Parse(text);
      CHECK(window.ok());
      windows.push_back(*std::move(window));
    }
    return windows;
  }
  absl::Time At(const std::string& text) {
    absl::Time time;
    std::string error;
    CHECK(absl::ParseTime("%Y-%m-%d %H:%M", text, zone_, &time, &error));
    return time;
  }
  std::string Until(const std::vector<std::string>& windows, const std::string& now) {
    const absl::Time until = OpenUntil(Make(windows), At(now), zone_);
    if (until == absl::InfinitePast()) return "closed";
    if (until == absl::InfiniteFuture()) return "for ever";
    return absl::FormatTime("%m-%d %H:%M", until, zone_);
  }
  std::string Next(const std::vector<std::string>& windows, const std::string& now) {
    return absl::FormatTime("%m-%d %H:%M", OpensNext(Make(windows), At(now), zone_), zone_);
  }

  absl::TimeZone zone_;
};

TEST_F(WindowTest, AcrossMidnight) {
  EXPECT_EQ(Until({"22:00-06:00"}, "2026-06-10 21:59"), "closed");
  EXPECT_EQ(Until({"22:00-06:00"}, "2026-06-10 22:00"), "06-11 06:00");
  EXPECT_EQ(Until({"22:00-06:00"}, "2026-06-11 05:59"), "06-11 06:00");
  EXPECT_EQ(Until({"22:00-06:00"}, "2026-06-11 06:00"), "closed");
  EXPECT_EQ(Next({"22:00-06:00"}, "2026-06-11 06:00"), "06-11 22:00");
}

// The days say when a window opens: Friday night ends on Saturday. 2026-06-12 is a Friday.
TEST_F(WindowTest, Days) {
  EXPECT_EQ(Until({"fri 22:00-06:00"}, "2026-06-12 05:00"), "closed");
  EXPECT_EQ(Until({"fri 22:00-06:00"}, "2026-06-13 05:00"), "06-13 06:00");
  EXPECT_EQ(Next({"fri 22:00-06:00"}, "2026-06-13 06:00"), "06-19 22:00");
  EXPECT_EQ(Until({"sat-mon 01:00-02:00"}, "2026-06-14 01:30"), "06-14 02:00");
}

TEST_F(WindowTest, WindowsThatTouchAreOne) {
  EXPECT_EQ(Until({"sat,sun 00:00-24:00", "22:00-06:00"}, "2026-06-12 23:00"), "06-15 06:00");
  EXPECT_EQ(Until({"00:00-24:00"}, "2026-06-12 23:00"), "for ever");
  EXPECT_EQ(Until({}, "2026-06-12 23:00"), "for ever");
}

// 02:00-03:00 does not exist on 2026-03-29 and comes twice on 2026-10-25.
TEST_F(WindowTest, DaylightSaving) {
  EXPECT_EQ(Until({"02:00-03:00"}, "2026-03-29 03:10"), "03-29 04:00");
  EXPECT_EQ(Until({"22:00-06:00"}, "2026-03-28 23:00"), "03-29 06:00");
  const absl::Time opened = At("2026-10-24 23:00");
  EXPECT_EQ(OpenUntil(Make({"22:00-06:00"}), opened, zone_) - opened, absl::Hours(8));
}

TEST_F(WindowTest, WrongOnes) {
  for (const char* text :
       {"", "22-06", "22:00", "25:00-06:00", "22:60-06:00", "22:00-06:00-07:00", "xyz 22:00-06:00",
        "mon- 22:00-06:00", "mon tue 22:00-06:00", "24:00-06:00", "22:00-24:01", "+2:00-06:00"}) {
    EXPECT_THAT(MaintenanceWindow::Parse(text), HasCode(absl::StatusCode::kInvalidArgument))
        << text;
  }
  EXPECT_THAT(MaintenanceWindow::Parse("22:00-22:00").status().message(),
              ::testing::HasSubstr("00:00-24:00"));
}

// A restart must not move what is due.
TEST(JitterTest, SameSeedSameDelay) {
  const absl::Duration most = absl::Minutes(15);
  EXPECT_EQ(JitterOf(1, "nightly", VolumeUuid{{1}}, most),
            JitterOf(1, "nightly", VolumeUuid{{1}}, most));
  EXPECT_EQ(JitterOf(1, "nightly", VolumeUuid{{1}}, absl::ZeroDuration()), absl::ZeroDuration());
  absl::Duration least = most;
  absl::Duration greatest;
  for (uint8_t i = 0; i < 200; ++i) {
    const absl::Duration jitter = JitterOf(1, "nightly", VolumeUuid{{i}}, most);
    least = std::min(least, jitter);
    greatest = std::max(greatest, jitter);
  }
  EXPECT_LT(least, absl::Minutes(1));
  EXPECT_GT(greatest, absl::Minutes(14));
  EXPECT_LE(greatest, most);
}

}  // namespace
}  // namespace onefold::fleet
