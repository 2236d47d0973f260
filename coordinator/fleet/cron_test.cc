#include "coordinator/fleet/cron.h"

#include <string>
#include <vector>

#include "common/check.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Cron Make(absl::string_view text) {
  absl::StatusOr<Cron> cron = Cron::Parse(text);
  CHECK(cron.ok());
  return *std::move(cron);
}

// The first `count` matches of 2026 (which begins on a Thursday).
std::vector<std::string> First(absl::string_view text, int count) {
  const Cron cron = Make(text);
  std::vector<std::string> matches;
  absl::CivilMinute at(2026, 1, 1);
  for (int i = 0; i < count; ++i) {
    at = cron.FirstFrom(at);
    matches.push_back(absl::FormatCivilTime(at));
    ++at;
  }
  return matches;
}

TEST(CronTest, FieldsListsRangesSteps) {
  EXPECT_THAT(First("0 2 * * *", 2), ElementsAre("2026-01-01T02:00", "2026-01-02T02:00"));
  EXPECT_THAT(First("10-30/10,45 23 * * *", 5),
              ElementsAre("2026-01-01T23:10", "2026-01-01T23:20", "2026-01-01T23:30",
                          "2026-01-01T23:45", "2026-01-02T23:10"));
  EXPECT_THAT(First("0 0 1 feb-apr *", 3),
              ElementsAre("2026-02-01T00:00", "2026-03-01T00:00", "2026-04-01T00:00"));
  EXPECT_THAT(First("0 0 * * SAT,sun", 3),
              ElementsAre("2026-01-03T00:00", "2026-01-04T00:00", "2026-01-10T00:00"));
  EXPECT_THAT(First("0 0 * * 7", 1), ElementsAre("2026-01-04T00:00"));
  EXPECT_THAT(First("0 0 * * fri-sun", 3),
              ElementsAre("2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00"));
  EXPECT_THAT(First("0 0 29 2 *", 2), ElementsAre("2028-02-29T00:00", "2032-02-29T00:00"));
}

// Vixie's rule: two restricted day fields are alternatives, a "*" is none.
TEST(CronTest, DayOfMonthOrDayOfWeek) {
  EXPECT_THAT(First("0 3 3,15 * mon", 4), ElementsAre("2026-01-03T03:00", "2026-01-05T03:00",
                                                      "2026-01-12T03:00", "2026-01-15T03:00"));
  EXPECT_THAT(First("0 3 */2 * mon", 2), ElementsAre("2026-01-05T03:00", "2026-01-19T03:00"));
}

TEST(CronTest, Nicknames) {
  EXPECT_THAT(First("@hourly", 2), ElementsAre("2026-01-01T00:00", "2026-01-01T01:00"));
  EXPECT_THAT(First("@Daily", 2), ElementsAre("2026-01-01T00:00", "2026-01-02T00:00"));
  EXPECT_THAT(First("@weekly", 2), ElementsAre("2026-01-04T00:00", "2026-01-11T00:00"));
  EXPECT_THAT(First("@monthly", 2), ElementsAre("2026-01-01T00:00", "2026-02-01T00:00"));
  EXPECT_EQ(Make(" 0  2 * *   sat ").text(), "0 2 * * sat");
}

TEST(CronTest, WrongOnesSayWhatIsWrong) {
  const auto message = [](absl::string_view text) {
    const absl::Status status = Cron::Parse(text).status();
    return status.ok() ? "accepted" : std::string(status.message());
  };
  EXPECT_THAT(message("0 2 * *"), HasSubstr("five fields"));
  EXPECT_THAT(message(""), HasSubstr("five fields"));
  EXPECT_THAT(message("0 2 * * * root"), HasSubstr("not 6"));
  EXPECT_THAT(message("60 2 * * *"), HasSubstr("minute \"60\": must be 0 to 59"));
  EXPECT_THAT(message("0 -1 * * *"), HasSubstr("hour"));
  EXPECT_THAT(message("0 2 0 * *"), HasSubstr("day of month \"0\""));
  EXPECT_THAT(message("0 2 * foo *"), HasSubstr("jan…dec"));
  EXPECT_THAT(message("0 2 * * 8"), HasSubstr("day of week"));
  EXPECT_THAT(message("30-10 2 * * *"), HasSubstr("ends before"));
  EXPECT_THAT(message("*/0 2 * * *"), HasSubstr("step"));
  EXPECT_THAT(message("5/2 2 * * *"), HasSubstr("step"));
  EXPECT_THAT(message("1,,2 2 * * *"), HasSubstr("minute"));
  EXPECT_THAT(message("0 0 30 2 *"), HasSubstr("no day ever"));
  EXPECT_THAT(message("@reboot"), HasSubstr("no schedule"));
  EXPECT_THAT(message(std::string(1000, '*')), HasSubstr("too long"));
  EXPECT_THAT(message("99999999999999999999 2 * * *"), HasSubstr("minute"));
}

}  // namespace
}  // namespace onefold::fleet
