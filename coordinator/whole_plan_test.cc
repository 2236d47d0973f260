#include "coordinator/whole_plan.h"

#include <set>

#include "common/limits.h"
#include "coordinator/testing/index_fixture.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WholePlanTest : public IndexFixture {
 protected:
  // Many equal extents of which `waiting` of a second scan wait.
  void ScanMany(uint64_t count, uint64_t content) {
    std::vector<Extent> extents;
    for (uint64_t i = 1; i <= count; ++i) extents.push_back(File(i * 10, 2, content));
    Scan(std::move(extents));
  }
};

TEST_F(WholePlanTest, EqualDigestsMakeAGroup) {
  Scan({File(100, 8, 1), File(200, 8, 2), File(300, 8, 1), File(400, 8, 3), File(500, 8, 1)});
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 300, 500)));
}

// A digest is 64 bits: what differs in length differs for certain.
TEST_F(WholePlanTest, DifferentLengthsAreNeverOneGroup) {
  Scan({File(100, 8, 1), File(200, 9, 1), File(300, 8, 1), File(400, 9, 1)});
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 300), ElementsAre(200, 400)));
}

// A head that equals another extent as a whole is a matter of inside plans.
TEST_F(WholePlanTest, HeadsDoNotJoinGroups) {
  Scan({File(100, 4, 7), File(200, 8, 1, /*head=*/7)});
  EXPECT_THAT(Plan(PlanKind::kWhole), IsEmpty());
}

// A long run that is cut off should have freed the most.
TEST_F(WholePlanTest, BestGainClassComesFirstThenAddresses) {
  Scan({File(100, 2, 1), File(200, 2, 1),      //
        File(300, 400, 2), File(400, 400, 2),  //
        File(500, 2, 3), File(600, 2, 3),      //
        File(50, 300, 4), File(700, 300, 4)});
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(50, 700), ElementsAre(300, 400),
                                                  ElementsAre(100, 200), ElementsAre(500, 600)));
}

TEST_F(WholePlanTest, SaysWhatIsToCome) {
  Scan({File(100, 2, 1), File(200, 2, 1), File(300, 2, 1), File(400, 4, 2), File(500, 4, 2)});
  auto plan = OpenPlan(*store_, *volume_, Record().incarnation(), {});
  ASSERT_THAT(plan, IsOk());
  ASSERT_THAT((*plan)->Next(), IsOk());
  EXPECT_EQ((*plan)->group_count(), 2);
  EXPECT_EQ((*plan)->expected_bytes(), (2 * 2 + 4) * 4096);
}

// Groups that were settled in earlier runs must not be offered with every new file.
TEST_F(WholePlanTest, OnlyGroupsWithAWaitingMemberAreOffered) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 2), File(400, 8, 2)});
  Plan(PlanKind::kWhole);
  Report(200, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  EndBoth();
  Scan({File(500, 8, 2)}, 11);
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(300, 400, 500)));
}

// Both ways to find groups must find the same ones.
TEST_F(WholePlanTest, LookUpsAndWalkAgree) {
  std::vector<Extent> old_extents;
  for (uint64_t i = 1; i <= 400; ++i) old_extents.push_back(File(i * 100, 3, i % 150));
  Scan(std::move(old_extents));
  Plan(PlanKind::kWhole);
  EndBoth();
  // 3 of 403 are looked up.
  Scan({File(50, 3, 1), File(60, 3, 1), File(70, 3, 999)}, 11);
  const std::vector<Group> looked_up = Plan(PlanKind::kWhole);
  EXPECT_THAT(looked_up, ElementsAre(ElementsAre(50, 60, 100, 15100, 30100)));
  // 103 of 503 are reason to walk.
  std::vector<Extent> more;
  for (uint64_t i = 0; i < 100; ++i) more.push_back(File(100000 + i * 10, 3, 10000 + i));
  Scan(std::move(more), 12);
  EXPECT_EQ(Plan(PlanKind::kWhole), looked_up);
}

// A member that the worker found gone must not be offered again by a plan that is under way.
TEST_F(WholePlanTest, MembersThatWentMeanwhileAreLeftOut) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 1), File(400, 2, 2), File(500, 2, 2)});
  auto plan = OpenPlan(*store_, *volume_, Record().incarnation(), {});
  ASSERT_THAT(plan, IsOk());
  Report(200, v1::OUTCOME_GONE);
  Report(400, v1::OUTCOME_GONE);
  const auto groups = (*plan)->Next();
  ASSERT_THAT(groups, IsOk());
  ASSERT_EQ(groups->size(), 1u);
  EXPECT_EQ((*groups)[0].members.size(), 2u);
}

TEST_F(WholePlanTest, PlanIsResumedBehindAPosition) {
  Scan({File(100, 2, 1), File(200, 2, 1), File(300, 2, 2), File(400, 2, 2), File(500, 2, 3),
        File(600, 2, 3)});
  const auto groups = PlanGroups(PlanKind::kWhole);
  ASSERT_EQ(groups.size(), 3u);
  const auto rest = PlanGroups(PlanKind::kWhole, groups[0].position);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].members[0].address, 300u);
  EXPECT_THAT(PlanGroups(PlanKind::kWhole, groups[2].position), IsEmpty());
}

// A million copies must neither fill a message nor the memory; all of them are folded into one.
TEST_F(WholePlanTest, LargeGroupsComeInPagesWithOneLead) {
  const uint64_t count = 3 * kMembersPerGroupMax;
  ScanMany(count, 1);
  const auto pages = PlanGroups(PlanKind::kWhole);
  ASSERT_EQ(pages.size(), 4u);
  std::set<uint64_t> seen;
  for (const PlanGroup& page : pages) {
    EXPECT_TRUE(page.paged);
    EXPECT_LE(page.members.size(), static_cast<size_t>(kMembersPerGroupMax));
    EXPECT_EQ(page.members[0].address, 10u);
    for (const PlanMember& member : page.members) seen.insert(member.address);
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(PlanGroups(PlanKind::kWhole, pages[1].position).size(), 2u);
  EXPECT_EQ(PlanGroups(PlanKind::kWhole, pages[3].position).size(), 0u);
}

TEST_F(WholePlanTest, KeptExtentLeadsThePages) {
  ScanMany(2 * kMembersPerGroupMax, 1);
  Report(20000, v1::OUTCOME_KEPT);
  const auto pages = PlanGroups(PlanKind::kWhole);
  ASSERT_EQ(pages.size(), 3u);
  for (const PlanGroup& page : pages) EXPECT_EQ(page.members[0].address, 20000u);
}

TEST_F(WholePlanTest, PagesGoOnWhileMembersGo) {
  ScanMany(2 * kMembersPerGroupMax, 1);
  auto plan = OpenPlan(*store_, *volume_, Record().incarnation(), {});
  ASSERT_THAT(plan, IsOk());
  const auto first = (*plan)->Next();
  ASSERT_THAT(first, IsOk());
  Report(10, v1::OUTCOME_GONE);  // the lead
  const auto second = (*plan)->Next();
  ASSERT_THAT(second, IsOk());
  ASSERT_EQ(second->size(), 1u);
  EXPECT_EQ((*second)[0].members[0].address, 20u);
}

}  // namespace
}  // namespace onefold::index
