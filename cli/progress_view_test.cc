#include "cli/progress_view.h"

#include "common/escape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMiB = 1024 * 1024;

ProgressSample Deduping(int64_t done, int64_t total) {
  ProgressSample sample;
  sample.phase = Progress::Phase::kDeduping;
  sample.plan_bytes_done = done;
  sample.plan_bytes_total = total;
  sample.moved_bytes = done / 2;
  sample.volume_index = 1;
  sample.volume_count = 1;
  sample.volume = "/srv";
  return sample;
}

TEST(ProgressModelTest, RateAndTimeLeft) {
  ProgressModel model;
  EXPECT_EQ(model.Update(Deduping(0, 1000 * kMiB), absl::Seconds(1)).left, std::nullopt);
  const ProgressView view = model.Update(Deduping(100 * kMiB, 1000 * kMiB), absl::Seconds(2));
  EXPECT_EQ(view.bytes_per_second, 100 * kMiB);
  EXPECT_EQ(view.left, absl::Seconds(9));
  EXPECT_FALSE(view.more_follows);
}

// 0 of 0 is the beginning of every run, and all of a run on an empty filesystem.
TEST(ProgressModelTest, NothingOfNothing) {
  ProgressModel model;
  model.Update(Deduping(0, 0), absl::Seconds(1));
  const ProgressView view = model.Update(Deduping(0, 0), absl::Seconds(5));
  EXPECT_EQ(view.left, std::nullopt);
  EXPECT_EQ(view.bytes_per_second, std::nullopt);
  EXPECT_EQ(StatusLine(view, false, 80), "deduping  /srv");
}

TEST(ProgressModelTest, StandingStillHasNoEndInSight) {
  ProgressModel model;
  model.Update(Deduping(kMiB, 2 * kMiB), absl::Seconds(1));
  const ProgressView view = model.Update(Deduping(kMiB, 2 * kMiB), absl::Seconds(9));
  EXPECT_EQ(view.bytes_per_second, 0);
  EXPECT_EQ(view.left, std::nullopt);
}

TEST(ProgressModelTest, MoreThanAllIsAll) {
  ProgressModel model;
  model.Update(Deduping(0, 2 * kMiB), absl::Seconds(1));
  const ProgressView view = model.Update(Deduping(3 * kMiB, 2 * kMiB), absl::Seconds(3));
  EXPECT_EQ(view.left, absl::ZeroDuration());
  EXPECT_THAT(StatusLine(view, false, 80), HasSubstr("100 %  2.00 MiB of 2.00 MiB"));
}

// Otherwise the rate of the scan, gigabytes a second, would promise an end that never comes.
TEST(ProgressModelTest, EachPhaseHasItsOwnRate) {
  ProgressModel model;
  ProgressSample scan = Deduping(0, 0);
  scan.phase = Progress::Phase::kScanning;
  scan.scan_bytes_total = 1000 * kMiB;
  model.Update(scan, absl::Seconds(1));
  scan.scan_bytes_done = 900 * kMiB;
  const ProgressView scanning = model.Update(scan, absl::Seconds(2));
  EXPECT_EQ(scanning.bytes_per_second, 900 * kMiB);
  EXPECT_TRUE(scanning.more_follows);  // what the plan will hold is not known yet
  EXPECT_EQ(model.Update(Deduping(0, kMiB), absl::Seconds(3)).bytes_per_second, std::nullopt);
}

TEST(ProgressModelTest, TheRateIsThatOfLate) {
  ProgressModel model;
  int64_t done = 0;
  for (int second = 0; second <= 100; ++second) {
    done += second < 50 ? 100 * kMiB : 10 * kMiB;
    const ProgressView view = model.Update(Deduping(done, 10000 * kMiB), absl::Seconds(second));
    if (second == 100) {
      EXPECT_EQ(view.bytes_per_second, 10 * kMiB);
    }
  }
}

class StatusLineTest : public ::testing::Test {
 protected:
  static ProgressView View() {
    ProgressModel model;
    ProgressSample sample = Deduping(0, 1000 * kMiB);
    sample.volume_count = 2;
    sample.volume = "/srv/\x1b[2J写真写真写真";
    model.Update(sample, absl::Seconds(1));
    sample.plan_bytes_done = 340 * kMiB;
    sample.moved_bytes = 300 * kMiB;
    return model.Update(sample, absl::Seconds(9));
  }
};

TEST_F(StatusLineTest, SaysEverythingWhereThereIsRoom) {
  EXPECT_EQ(StatusLine(View(), false, 200),
            "deduping 34 %  340.0 MiB of 1000.0 MiB  42.5 MiB/s  more than 16 s left  "
            "about 300.0 MiB freed  /srv/\\x1b[2J写真写真写真 (1 of 2)");
}

TEST_F(StatusLineTest, ADryRunFreesNothing) {
  EXPECT_THAT(StatusLine(View(), true, 200), Not(HasSubstr("freed")));
}

// A line that is too long wraps, and the terminal scrolls at each update.
TEST_F(StatusLineTest, FitsEveryWidth) {
  for (int columns = 0; columns <= 200; ++columns) {
    const std::string line = StatusLine(View(), false, columns);
    EXPECT_LE(ColumnCount(line), columns);
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    if (columns >= 13) {
      EXPECT_THAT(line, HasSubstr("deduping 34 %"));
    }
  }
  EXPECT_EQ(StatusLine(View(), false, 40), "deduping 34 %  more than 16 s left");
}

TEST_F(StatusLineTest, PlainLine) {
  EXPECT_EQ(PlainLine(View(), false),
            "deduping /srv/\\x1b[2J写真写真写真 (1 of 2): 340.0 MiB of 1000.0 MiB, more than 16 s "
            "left, about 300.0 MiB freed");
  ProgressView starting;
  starting.now.phase = Progress::Phase::kScanning;
  starting.now.volume = "/srv";
  EXPECT_EQ(PlainLine(starting, false), "scanning /srv");
}

}  // namespace
}  // namespace onefold
