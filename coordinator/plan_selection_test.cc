#include "coordinator/plan_selection.h"

#include <algorithm>
#include <random>

#include "absl/strings/escaping.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;

Candidate Pair(uint64_t lead, uint32_t length, uint64_t digest = 0) {
  return {.lead = lead,
          .second = lead + 1,
          .digest = digest == 0 ? lead : digest,
          .gain_blocks = length,
          .length = length,
          .member_count = 2};
}

std::vector<uint64_t> Leads(const std::vector<Candidate>& candidates) {
  std::vector<uint64_t> leads;
  for (const Candidate& candidate : candidates) leads.push_back(candidate.lead);
  return leads;
}

TEST(GainClassTest, GrowsByOneForEachFactorOfFour) {
  EXPECT_EQ(GainClass(0), 0);
  EXPECT_EQ(GainClass(3), 0);
  EXPECT_EQ(GainClass(4), 1);
  EXPECT_EQ(GainClass(15), 1);
  EXPECT_EQ(GainClass(16), 2);
  EXPECT_EQ(GainClass(int64_t{1} << 62), 31);
}

TEST(PlanSelectionTest, ClassesFirstThenAddresses) {
  PlanSelection selection(10, 4096, std::nullopt);
  selection.Offer(Pair(300, 1));
  selection.Offer(Pair(900, 100));
  selection.Offer(Pair(100, 1));
  selection.Offer(Pair(500, 90));
  EXPECT_THAT(Leads(selection.Take()), ElementsAre(500, 900, 100, 300));
  EXPECT_FALSE(selection.left_out());
}

TEST(PlanSelectionTest, GroupsThatAreOfferedAgainCountOnce) {
  PlanSelection selection(10, 4096, std::nullopt);
  selection.Offer(Pair(300, 1));
  selection.Offer(Pair(300, 1));
  EXPECT_THAT(Leads(selection.Take()), ElementsAre(300));
}

// However many groups there are, several passes hand out each of them once, in order.
TEST(PlanSelectionTest, PassesOfBoundedSizeMakeTheWholePlan) {
  std::mt19937_64 random(7);
  std::vector<Candidate> all;
  for (int i = 0; i < 2000; ++i) all.push_back(Pair(random() % 100000, 1 + random() % 500, i + 1));
  PlanSelection unbounded(all.size(), 4096, std::nullopt);
  for (const Candidate& candidate : all) unbounded.Offer(candidate);
  const std::vector<Candidate> expected = unbounded.Take();

  std::vector<Candidate> found;
  std::optional<PlanOrder> after;
  bool more = true;
  while (more) {
    PlanSelection pass(100, 4096, after);
    for (const Candidate& candidate : all) pass.Offer(candidate);
    more = pass.left_out();
    const std::vector<Candidate> portion = pass.Take();
    ASSERT_LE(portion.size(), 100u);
    ASSERT_FALSE(portion.empty());
    after = pass.OrderOf(portion.back());
    found.insert(found.end(), portion.begin(), portion.end());
  }
  EXPECT_EQ(Leads(found), Leads(expected));
}

// Workers keep positions over restarts.
TEST(PlanPositionTest, BytesAreFrozen) {
  const PlanPosition position{.order = {.gain_class = 9, .lead = 0x0102, .digest = 0x0304},
                              .last_member = 0x0506};
  EXPECT_EQ(absl::BytesToHexString(EncodePosition(position)),
            "09"
            "0000000000000102"
            "0000000000000304"
            "0000000000000506");
  EXPECT_THAT(ParsePosition(EncodePosition(position)), IsOkAndHolds(position));
}

TEST(PlanPositionTest, OtherBytesAreRefused) {
  const std::string bytes = EncodePosition({});
  EXPECT_THAT(ParsePosition(bytes.substr(1)), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParsePosition(bytes + "x"), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParsePosition("\xff" + bytes.substr(1)), HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace onefold::index
