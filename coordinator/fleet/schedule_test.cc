#include "coordinator/fleet/schedule.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/testing/status_matchers.h"
#include "common/testing/test_seed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::fleet {
namespace {

using ::testing::ElementsAre;

absl::TimeZone Zone(const std::string& name) {
  absl::TimeZone zone;
  CHECK(absl::LoadTimeZone(name, &zone));
  return zone;
}

absl::Time Utc(const std::string& text) {
  absl::Time time;
  std::string error;
  CHECK(absl::ParseTime("%Y-%m-%d %H:%M", text, absl::UTCTimeZone(), &time, &error));
  return time;
}

Schedule Make(absl::string_view cron, const std::string& zone) {
  absl::StatusOr<Cron> parsed = Cron::Parse(cron);
  CHECK(parsed.ok());
  return Schedule(*std::move(parsed), Zone(zone));
}

// All instants in (from, to], in UTC.
std::vector<std::string> Dues(const Schedule& schedule, const std::string& from,
                              const std::string& to) {
  std::vector<std::string> dues;
  for (absl::Time due = schedule.NextAfter(Utc(from)); due <= Utc(to);
       due = schedule.NextAfter(due)) {
    dues.push_back(absl::FormatTime("%m-%d %H:%M", due, absl::UTCTimeZone()));
  }
  return dues;
}

TEST(ScheduleTest, TimesAreOfTheZone) {
  const Schedule schedule = Make("30 2 * * *", "Asia/Kolkata");  // +05:30, never changes
  EXPECT_THAT(Dues(schedule, "2026-03-28 00:00", "2026-03-30 23:00"),
              ElementsAre("03-28 21:00", "03-29 21:00", "03-30 21:00"));
}

// 2026-03-29, Berlin: 02:00 CET is followed by 03:00 CEST, at 01:00 UTC.
TEST(ScheduleTest, SkippedTimeOfDayRunsAtTheChange) {
  EXPECT_THAT(Dues(Make("30 2 * * *", "Europe/Berlin"), "2026-03-28 00:00", "2026-03-30 12:00"),
              ElementsAre("03-28 01:30", "03-29 01:00", "03-30 00:30"));
  // Several skipped ones are one.
  EXPECT_THAT(
      Dues(Make("0,20,40 2 * * *", "Europe/Berlin"), "2026-03-29 00:00", "2026-03-29 23:00"),
      ElementsAre("03-29 01:00"));
}

// 2026-10-25, Berlin: 03:00 CEST is followed by 02:00 CET, at 01:00 UTC.
TEST(ScheduleTest, TimeOfDayThatComesTwiceRunsOnce) {
  EXPECT_THAT(Dues(Make("30 2 * * *", "Europe/Berlin"), "2026-10-24 00:00", "2026-10-26 12:00"),
              ElementsAre("10-24 00:30", "10-25 00:30", "10-26 01:30"));
  // Asked in the middle of the second hour, when the first has passed.
  EXPECT_THAT(Dues(Make("45 2 * * *", "Europe/Berlin"), "2026-10-25 01:15", "2026-10-25 23:00"),
              ElementsAre());
}

TEST(ScheduleTest, HourlyCountsElapsedTime) {
  EXPECT_THAT(Dues(Make("@hourly", "Europe/Berlin"), "2026-10-24 23:00", "2026-10-25 03:00"),
              ElementsAre("10-25 00:00", "10-25 01:00", "10-25 02:00", "10-25 03:00"));
  EXPECT_THAT(Dues(Make("15 * * * *", "Europe/Berlin"), "2026-03-29 00:00", "2026-03-29 03:00"),
              ElementsAre("03-29 00:15", "03-29 01:15", "03-29 02:15"));
}

// Lord Howe moves by half an hour: 2026-04-05 02:00 +11 → 01:30 +10:30 (15:00 UTC the day before);
// 2026-10-04 02:00 +10:30 → 02:30 +11 (15:30 UTC the day before).
TEST(ScheduleTest, HalfHourChanges) {
  EXPECT_THAT(
      Dues(Make("45 1 * * *", "Australia/Lord_Howe"), "2026-04-03 00:00", "2026-04-06 00:00"),
      ElementsAre("04-03 14:45", "04-04 14:45", "04-05 15:15"));
  EXPECT_THAT(
      Dues(Make("15 2 * * *", "Australia/Lord_Howe"), "2026-10-02 00:00", "2026-10-05 00:00"),
      ElementsAre("10-02 15:45", "10-03 15:30", "10-04 15:15"));
  EXPECT_THAT(
      Dues(Make("*/30 * * * *", "Australia/Lord_Howe"), "2026-04-04 14:00", "2026-04-04 16:00"),
      ElementsAre("04-04 14:30", "04-04 15:00", "04-04 15:30", "04-04 16:00"));
}

// Samoa left out the 30th of December 2011.
TEST(ScheduleTest, SkippedDay) {
  EXPECT_THAT(Dues(Make("0 12 30 12 *", "Pacific/Apia"), "2011-12-01 00:00", "2012-01-31 00:00"),
              ElementsAre("12-30 10:00"));
}

TEST(ScheduleTest, LatestOfManyMissed) {
  const Schedule daily = Make("@daily", "UTC");
  EXPECT_EQ(daily.LatestIn(Utc("2026-01-01 00:00"), Utc("2026-03-05 07:00")),
            Utc("2026-03-05 00:00"));
  EXPECT_EQ(daily.LatestIn(Utc("2026-01-01 00:00"), Utc("2026-01-01 23:59")), std::nullopt);
  EXPECT_EQ(Make("* * * * *", "UTC").LatestIn(Utc("2016-01-01 00:00"), Utc("2026-03-05 07:00")),
            Utc("2026-03-05 07:00"));
}

// Against the definition, minute by minute, around every change of two years.
TEST(ScheduleTest, AgreesWithTheDefinition) {
  std::mt19937_64 random(TestSeed());
  const std::vector<std::string> minutes = {"0", "30", "*/20", "5,59", "*"};
  const std::vector<std::string> hours = {"*", "2", "1-3", "*/2", "0", "23,1"};
  for (const char* name : {"Europe/Berlin", "Australia/Lord_Howe", "America/New_York",
                           "Africa/Casablanca", "Asia/Kolkata"}) {
    for (int round = 0; round < 8; ++round) {
      const std::string text = absl::StrCat(minutes[random() % minutes.size()], " ",
                                            hours[random() % hours.size()], " * * *");
      const Schedule schedule = Make(text, name);
      const absl::TimeZone zone = schedule.zone();
      // Near a change, if the zone has any.
      absl::Time from = Utc("2025-01-01 00:00") + absl::Hours(random() % (24 * 700));
      absl::TimeZone::CivilTransition change;
      if (zone.NextTransition(from, &change)) {
        from = absl::FromCivil(change.from, zone) - absl::Hours(4);
      }
      from = absl::FromUnixSeconds(absl::ToUnixSeconds(from) / 60 * 60);
      for (absl::Time now = from; now < from + absl::Hours(9); now += absl::Minutes(1)) {
        bool due = false;
        if (schedule.cron().every_hour()) {
          const absl::CivilMinute here(zone.At(now).cs);
          due = schedule.cron().FirstFrom(here) == here;
        } else {
          for (int ahead = -180; ahead <= 180 && !due; ++ahead) {
            const absl::CivilMinute minute = absl::CivilMinute(zone.At(now).cs) + ahead;
            due = schedule.cron().FirstFrom(minute) == minute && InstantOf(minute, zone) == now;
          }
        }
        ASSERT_EQ(schedule.NextAfter(now - absl::Minutes(1)) == now, due)
            << text << " " << name << " " << absl::FormatTime(now, zone);
      }
    }
  }
}

}  // namespace
}  // namespace onefold::fleet
