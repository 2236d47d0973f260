#include "cli/quantity.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::Eq;

constexpr int64_t kKiB = 1024;

TEST(ParseBytesTest, NumbersWithAndWithoutUnits) {
  EXPECT_THAT(ParseBytes("0"), IsOkAndHolds(Eq(0)));
  EXPECT_THAT(ParseBytes("4096"), IsOkAndHolds(Eq(4096)));
  EXPECT_THAT(ParseBytes("4096B"), IsOkAndHolds(Eq(4096)));
  EXPECT_THAT(ParseBytes("4K"), IsOkAndHolds(Eq(4 * kKiB)));
  EXPECT_THAT(ParseBytes("4k"), IsOkAndHolds(Eq(4 * kKiB)));
  EXPECT_THAT(ParseBytes("1MiB"), IsOkAndHolds(Eq(kKiB * kKiB)));
  EXPECT_THAT(ParseBytes("1mb"), IsOkAndHolds(Eq(kKiB * kKiB)));
  EXPECT_THAT(ParseBytes("2G"), IsOkAndHolds(Eq(2 * kKiB * kKiB * kKiB)));
  EXPECT_THAT(ParseBytes("1.5K"), IsOkAndHolds(Eq(1536)));
  EXPECT_THAT(ParseBytes("4 KiB"), IsOkAndHolds(Eq(4 * kKiB)));
  EXPECT_THAT(ParseBytes("8P"), IsOkAndHolds(Eq(int64_t{8} << 50)));
  EXPECT_THAT(ParseBytes("9223372036854775807"), IsOkAndHolds(Eq(INT64_MAX)));
}

// "1O0K" read as 1 byte would let a run touch what was to be left alone.
TEST(ParseBytesTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", " ", "K", "-1", "+1", "1O0K", "4KK", "4iB", "0x10", "1e6", "nan", "inf", "1.", ".5",
        "1..5", "4X", "9223372036854775808", "8192P", "99999999999.5P"}) {
    EXPECT_THAT(ParseBytes(text), HasCode(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST(ParseTimeSpanTest, UnitsMayBeCombined) {
  EXPECT_THAT(ParseTimeSpan("90s"), IsOkAndHolds(Eq(absl::Seconds(90))));
  EXPECT_THAT(ParseTimeSpan("10m"), IsOkAndHolds(Eq(absl::Minutes(10))));
  EXPECT_THAT(ParseTimeSpan("4h"), IsOkAndHolds(Eq(absl::Hours(4))));
  EXPECT_THAT(ParseTimeSpan("1h30m"), IsOkAndHolds(Eq(absl::Minutes(90))));
  EXPECT_THAT(ParseTimeSpan("1d2h3m4s"), IsOkAndHolds(Eq(absl::Seconds(93784))));
  EXPECT_THAT(ParseTimeSpan("1.5h"), IsOkAndHolds(Eq(absl::Minutes(90))));
  EXPECT_THAT(ParseTimeSpan("90"), IsOkAndHolds(Eq(absl::Seconds(90))));
}

TEST(ParseTimeSpanTest, AnythingElseIsRefused) {
  for (const char* text : {"", "h", "-1h", "1x", "1h30", "30m1h", "1h1h", "0", "0s", "0.0h", "400d",
                           "1 h", "1ms", "99999999999999999999h", "inf"}) {
    EXPECT_THAT(ParseTimeSpan(text), HasCode(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST(TextTest, Bytes) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1024), "1.00 KiB");
  EXPECT_EQ(BytesText(10 * kKiB), "10.0 KiB");
  EXPECT_EQ(BytesText(966053069), "921.3 MiB");
  EXPECT_EQ(BytesText(kKiB * kKiB - 1), "1.00 MiB");
  EXPECT_EQ(BytesText(INT64_MAX), "8.00 EiB");
  EXPECT_EQ(BytesText(-2048), "-2.00 KiB");
}

TEST(TextTest, Durations) {
  EXPECT_EQ(DurationText(absl::ZeroDuration()), "0.0 s");
  EXPECT_EQ(DurationText(absl::Milliseconds(420)), "0.4 s");
  EXPECT_EQ(DurationText(absl::Milliseconds(9960)), "10 s");
  EXPECT_EQ(DurationText(absl::Milliseconds(59700)), "1 min 0 s");
  EXPECT_EQ(DurationText(absl::Seconds(200)), "3 min 20 s");
  EXPECT_EQ(DurationText(absl::Minutes(125)), "2 h 5 min");
  EXPECT_EQ(DurationText(absl::Hours(76)), "3 d 4 h");
  EXPECT_EQ(DurationText(-absl::Seconds(1)), "0.0 s");
}

TEST(TextTest, Counts) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(-123456), "-123,456");
}

// "nan %" of an empty filesystem, and 101 % where something grew meanwhile.
TEST(TextTest, Percents) {
  EXPECT_EQ(Percent(0, 0), 0);
  EXPECT_EQ(Percent(5, 0), 0);
  EXPECT_EQ(Percent(1, 3), 33);
  EXPECT_EQ(Percent(999, 1000), 99);
  EXPECT_EQ(Percent(7, 5), 100);
  EXPECT_EQ(Percent(-1, 5), 0);
  EXPECT_EQ(Percent(INT64_MAX / 2, INT64_MAX), 50);
}

}  // namespace
}  // namespace onefold
