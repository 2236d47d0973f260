#include "coordinator/inside_plan.h"

#include "common/limits.h"
#include "coordinator/testing/index_fixture.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kHead = 0x77;

class InsidePlanTest : public IndexFixture {
 protected:
  // A file of 8 blocks whose head is kHead, and an image of 1000.
  void ScanFileAndImage() { Scan({File(100, 8, 1, kHead), File(5000, 1000, 2)}); }
};

TEST_F(InsidePlanTest, WindowThatEqualsAHeadMakesAGroup) {
  ScanFileAndImage();
  Plan(PlanKind::kWhole);
  EXPECT_EQ(SendHits({{.digest = kHead, .address = 5000, .offset = 300}}).match_count, 1);

  const auto groups = PlanGroups(PlanKind::kInside);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members[0].address, 100u);
  EXPECT_EQ(groups[0].members[1].address, 5000u);
  EXPECT_EQ(groups[0].members[1].delta, 300);
}

// The head need not be the first window: block 0 lies that much earlier.
TEST_F(InsidePlanTest, OffsetOfTheHeadIsTakenIntoAccount) {
  Extent file = File(100, 8, 1, kHead);
  file.head_offset = 3;
  Scan({file, File(5000, 1000, 2)});
  SendHits({{.digest = kHead, .address = 5000, .offset = 1}});
  const auto groups = PlanGroups(PlanKind::kInside);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members[1].delta, -2);
}

// A filter lets some windows through that equal no head, and what was deleted may be reported.
TEST_F(InsidePlanTest, HitsThatAreNoneAreIgnored) {
  ScanFileAndImage();
  const auto counts =
      SendHits({{.digest = 0x1234, .address = 5000, .offset = 0},
                {.digest = kHead, .address = 100, .offset = 0},        // itself
                {.digest = kHead, .address = 777, .offset = 0},        // absent
                {.digest = kHead, .address = 5000, .offset = 1000}});  // behind its end
  EXPECT_EQ(counts.match_count, 0);
  EXPECT_THAT(Plan(PlanKind::kInside), IsEmpty());
}

TEST_F(InsidePlanTest, EqualExtentsAreLeftToWholeGroups) {
  Scan({File(100, 8, 1, kHead), File(200, 8, 1, kHead)});
  SendHits({{.digest = kHead, .address = 200, .offset = 0}});
  EXPECT_THAT(Plan(PlanKind::kInside), IsEmpty());
}

// A grown log: the older version is the beginning of the newer one. No window needs to be sent.
TEST_F(InsidePlanTest, EqualHeadsOfDifferentExtentsMakeGroupsBothWays) {
  Scan({File(100, 8, 1, kHead), File(200, 20, 2, kHead)});
  SendHits({});
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(200, 100), ElementsAre(100, 200)));
}

TEST_F(InsidePlanTest, SmallExtentIsFoundAsTheHeadOfALargerOne) {
  Scan({File(100, 4, kHead), File(200, 20, 2, kHead)});
  SendHits({});
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(200, 100), ElementsAre(100, 200)));
}

TEST_F(InsidePlanTest, NewExtentsAreMatchedWithOldHeads) {
  Scan({File(100, 8, 1, kHead)});
  Plan(PlanKind::kWhole);
  EndBoth();
  Scan({File(200, 20, 2, kHead)}, 11);
  SendHits({}, /*full=*/false);
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(200, 100), ElementsAre(100, 200)));
}

// An all-too-common head says nothing; the largest places promise most.
TEST_F(InsidePlanTest, LargestPlacesAreKeptAndTheRestCounted) {
  std::vector<Extent> extents = {File(10, 8, 1, kHead)};
  std::vector<Hit> hits;
  for (uint32_t i = 1; i <= kPlacesPerHeadMax + 6; ++i) {
    extents.push_back(File(i * 10000, 100 + i, 100 + i));
    hits.push_back({.digest = kHead, .address = i * 10000, .offset = 5});
  }
  Scan(extents);
  const auto counts = SendHits(hits);
  EXPECT_EQ(counts.dropped_count, 6);

  const auto groups = PlanGroups(PlanKind::kInside);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), static_cast<size_t>(kPlacesPerHeadMax) + 1);
  EXPECT_EQ(groups[0].dropped_count, 6);
  EXPECT_EQ(groups[0].members[1].length, 100u + kPlacesPerHeadMax + 6);
  EXPECT_EQ(groups[0].members.back().length, 107u);
}

// Later portions of hits must not push a query over the limit, nor lose larger places.
TEST_F(InsidePlanTest, LimitHoldsOverSeveralUploads) {
  std::vector<Extent> extents = {File(10, 8, 1, kHead)};
  for (uint32_t i = 1; i <= 80; ++i) extents.push_back(File(i * 10000, 100 + i, 100 + i));
  Scan(extents);
  for (uint32_t i = 1; i <= 80; ++i) {
    SendHits({{.digest = kHead, .address = i * 10000, .offset = 5}}, false);
  }
  const auto groups = PlanGroups(PlanKind::kInside);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), static_cast<size_t>(kPlacesPerHeadMax) + 1);
  EXPECT_EQ(groups[0].members.back().length, 117u);
  EXPECT_EQ(groups[0].dropped_count, 16);
}

TEST_F(InsidePlanTest, HitsAreHarmlessToRepeat) {
  ScanFileAndImage();
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}});
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}});
  const auto groups = PlanGroups(PlanKind::kInside);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members.size(), 2u);
}

TEST_F(InsidePlanTest, GoneExtentsAreLeftOut) {
  ScanFileAndImage();
  Scan({File(200, 8, 3, 0x88)}, 11);
  SendHits({{.digest = kHead, .address = 5000, .offset = 300},
            {.digest = 0x88, .address = 5000, .offset = 400},
            {.digest = 0x88, .address = 100, .offset = 1}});
  Report(100, v1::OUTCOME_FREED);
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(200, 5000)));
}

TEST_F(InsidePlanTest, SettledMatchesAreForgotten) {
  ScanFileAndImage();
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}});
  Plan(PlanKind::kInside);
  Report(100, v1::OUTCOME_NO_PARTNER);
  EndBoth();
  EXPECT_FALSE(Record().has_matches());
  EXPECT_THAT(Plan(PlanKind::kInside), IsEmpty());
}

// When the snapshot that pins it goes, an extent is folded without streaming all checksums again.
TEST_F(InsidePlanTest, MatchesOfPinnedExtentsAreOfferedWhenTheyAreReconsidered) {
  ScanFileAndImage();
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}});
  Plan(PlanKind::kInside);
  Report(100, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  EndBoth(/*subvolumes=*/1);
  EXPECT_THAT(Plan(PlanKind::kInside), IsEmpty());
  ReconsiderAt({.subvolume_set_digest = 2});
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(100, 5000)));
}

TEST_F(InsidePlanTest, MatchesOfRetriedExtentsAreOfferedAgain) {
  ScanFileAndImage();
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}});
  Plan(PlanKind::kWhole);
  Plan(PlanKind::kInside);
  Report(100, v1::OUTCOME_RETRY);
  EndBoth();
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(100, 5000)));
}

// A full pass finds what incremental runs missed: both sides are settled long since.
TEST_F(InsidePlanTest, FullPassOffersSettledExtentsToo) {
  ScanFileAndImage();
  Plan(PlanKind::kWhole);
  Plan(PlanKind::kInside);
  EndBoth();
  EXPECT_EQ(Record().new_head_count(), 2);
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}}, /*full=*/true);
  EXPECT_EQ(Record().new_head_count(), 0);
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(100, 5000)));
  EndBoth();
  EXPECT_THAT(Plan(PlanKind::kInside), IsEmpty());
}

// Only a full pass makes heads old: an incremental one has not shown them to the old windows.
TEST_F(InsidePlanTest, IncrementalPassLeavesHeadsNew) {
  ScanFileAndImage();
  SendHits({}, /*full=*/false);
  EXPECT_EQ(Record().new_head_count(), 2);
}

// A kept extent can still be folded into a larger one.
TEST_F(InsidePlanTest, KeptExtentIsOffered) {
  Scan({File(100, 8, 1, kHead), File(200, 8, 1, kHead), File(5000, 1000, 2)});
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_KEPT);
  Report(200, v1::OUTCOME_FREED);
  SendHits({{.digest = kHead, .address = 5000, .offset = 300}});
  EXPECT_THAT(Plan(PlanKind::kInside), ElementsAre(ElementsAre(100, 5000)));
}

}  // namespace
}  // namespace onefold::index
