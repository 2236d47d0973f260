#include "cli/fleet/admin_words.h"

#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(AdminWordsTest, Words) {
  EXPECT_EQ(StateWord(v1::Host::STATE_SILENT), "silent");
  EXPECT_EQ(StateWord(v1::RUN_STATE_INCOMPLETE), "incomplete");
  EXPECT_EQ(PhaseWord(v1::RUN_PHASE_FOLD), "fold");
  EXPECT_EQ(KindWord(v1::ApplyPoliciesResponse::Change::KIND_CREATED), "created");
  EXPECT_EQ(RoleFromWord("admin"), v1::USER_ROLE_ADMIN);
  EXPECT_EQ(RoleFromWord("ADMIN"), std::nullopt);
  EXPECT_EQ(RoleFromWord("unknown"), std::nullopt);
  EXPECT_EQ(RoleFromWord(""), std::nullopt);
}

// A newer coordinator may have states that we have never heard of.
TEST(AdminWordsTest, WhatIsNotKnownIsUnknown) {
  EXPECT_EQ(StateWord(static_cast<v1::RunState>(99)), "unknown");
  EXPECT_EQ(StateWord(v1::RUN_STATE_UNSPECIFIED), "unknown");
  EXPECT_FALSE(HasEnded(static_cast<v1::RunState>(99)));
  EXPECT_EQ(UuidWord("abc"), "616263");
  EXPECT_EQ(UuidWord(std::string(16, '\x01')), "01010101-0101-0101-0101-010101010101");
}

TEST(AdminWordsTest, TimesOutsideOfTheirRangeAreHarmless) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(INT64_MAX);
  timestamp.set_nanos(-5);
  EXPECT_EQ(TimeWord(TimeOf(timestamp)), "9999-12-31T23:59:59Z");
  google::protobuf::Duration duration;
  duration.set_seconds(INT64_MIN);
  EXPECT_LT(DurationOf(duration), absl::ZeroDuration());
  EXPECT_EQ(DurationOf(ProtoOf(absl::Milliseconds(1500))), absl::Milliseconds(1500));
}

}  // namespace
}  // namespace onefold
