#include "worker/daemon/sync_schedule.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using News = SyncSchedule::News;

class SyncScheduleTest : public ::testing::Test {
 protected:
  News Answered(absl::Duration delay) {
    schedule_.Begun(now_);
    return schedule_.Succeeded(delay, now_);
  }
  News Unanswered() {
    schedule_.Begun(now_);
    return schedule_.Failed(now_);
  }
  absl::Duration Left() { return schedule_.next() - now_; }

  absl::Duration now_ = absl::Hours(7);
  double chance_ = 0.5;
  SyncSchedule schedule_{[this] { return chance_; }};
};

TEST_F(SyncScheduleTest, AtOnceThenAsOftenAsTold) {
  EXPECT_LE(schedule_.next(), now_);
  EXPECT_EQ(Answered(absl::Seconds(60)), News::kNone);
  EXPECT_EQ(Left(), absl::Seconds(60));
}

// A coordinator that was taken over must not make workers flood it, or fall silent.
TEST_F(SyncScheduleTest, WhatIsToldHasBounds) {
  Answered(-absl::Seconds(5));
  EXPECT_EQ(Left(), absl::Seconds(1));
  Answered(absl::Hours(1000));
  EXPECT_EQ(Left(), absl::Minutes(10));
}

TEST_F(SyncScheduleTest, NewsAreToldSoonButNotOneByOne) {
  Answered(absl::Seconds(60));
  schedule_.Changed(now_);
  EXPECT_EQ(Left(), absl::Seconds(1));
  now_ += absl::Seconds(30);
  schedule_.Changed(now_);
  EXPECT_LE(Left(), absl::ZeroDuration());
}

// What happens while the call is under way is not in it.
TEST_F(SyncScheduleTest, ChangesDuringACallAreToldWithTheNext) {
  schedule_.Begun(now_);
  schedule_.Changed(now_);
  now_ += absl::Seconds(5);
  schedule_.Succeeded(absl::Seconds(60), now_);
  EXPECT_LE(Left(), absl::ZeroDuration());
}

TEST_F(SyncScheduleTest, MoreAndMoreSeldomWhileNobodyAnswers) {
  Answered(absl::Seconds(60));
  for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    Unanswered();
    EXPECT_EQ(Left(), absl::Seconds(seconds));
    schedule_.Changed(now_);
    EXPECT_EQ(Left(), absl::Seconds(seconds)) << "a change is no reason to call a dead coordinator";
  }
  chance_ = 0;
  Unanswered();
  EXPECT_EQ(Left(), absl::Seconds(150));
  chance_ = 0.999;
  Unanswered();
  EXPECT_LT(Left(), absl::Seconds(450));
  EXPECT_EQ(Answered(absl::Seconds(60)), News::kBack);
  Unanswered();
  EXPECT_LT(Left(), absl::Seconds(2));
}

TEST_F(SyncScheduleTest, AWeekOfSilenceIsSevenLines) {
  int told = 0, calls = 0;
  for (const absl::Duration end = now_ + absl::Hours(24 * 7); now_ < end; now_ = schedule_.next()) {
    told += Unanswered() != News::kNone;
    ++calls;
  }
  EXPECT_EQ(told, 7);
  EXPECT_LT(calls, 2100);
}

}  // namespace
}  // namespace onefold
