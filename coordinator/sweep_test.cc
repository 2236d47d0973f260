#include "coordinator/sweep.h"

#include "coordinator/testing/index_fixture.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SweepTest : public IndexFixture {
 protected:
  Sweep NewSweep(int64_t target_generation = 0) {
    return Sweep(*store_, *volume_,
                 {.incarnation = Record().incarnation(), .target_generation = target_generation});
  }
};

// Deletions are in no tree: only what is missing in a complete list is known to be gone.
TEST_F(SweepTest, RemovesWhatIsMissingWithAllItsRows) {
  Scan({WithAnchors(File(100, 200, 1), {{.digest = 64, .offset = 3}}), File(300, 8, 2),
        WithoutChecksums(400, 8, ChecksumState::kNone), File(500, 8, 3)});
  Report(300, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  Sweep sweep = NewSweep();
  EXPECT_THAT(sweep.Add({{.address = 500, .generation = 10}}, 600), IsOk());
  EXPECT_THAT(sweep.End(), IsOk());
  EXPECT_EQ(sweep.deleted_count(), 3);
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(500));
  EXPECT_EQ(Record().extent_count(), 1);
}

// A balance gives the place to another extent.
TEST_F(SweepTest, RemovesExtentsOfAnotherGeneration) {
  Scan({File(100, 8, 1), File(200, 8, 2)});
  Sweep sweep = NewSweep();
  EXPECT_THAT(
      sweep.Add({{.address = 100, .generation = 11}, {.address = 200, .generation = 10}}, 0),
      IsOk());
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(200));
}

TEST_F(SweepTest, IgnoresExtentsTheIndexDoesNotKnow) {
  Scan({File(100, 8, 1)});
  Sweep sweep = NewSweep();
  EXPECT_THAT(sweep.Add({{.address = 50, .generation = 10}, {.address = 100, .generation = 10}}, 0),
              IsOk());
  EXPECT_THAT(sweep.End(), IsOk());
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(100));
}

// What was not listed yet is not gone.
TEST_F(SweepTest, BrokenSweepRemovesOnlyWhatItPassed) {
  Scan({File(100, 8, 1), File(200, 8, 2), File(300, 8, 3)});
  Sweep sweep = NewSweep();
  EXPECT_THAT(sweep.Add({}, 150), IsOk());
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(200, 300));
  EXPECT_EQ(sweep.durable_below(), 150u);
}

TEST_F(SweepTest, RowsThatGoBackAreRefused) {
  Scan({File(100, 8, 1)});
  Sweep sweep = NewSweep();
  EXPECT_THAT(sweep.Add({{.address = 300, .generation = 10}}, 0), IsOk());
  EXPECT_THAT(sweep.Add({{.address = 300, .generation = 10}}, 0),
              HasCode(absl::StatusCode::kInvalidArgument));
}

// The list is older than the newest extents.
TEST_F(SweepTest, ExtentsNewerThanTheListStay) {
  Scan({File(100, 8, 1, 0, 10), File(200, 8, 2, 0, 21)}, 21);
  Sweep sweep = NewSweep(20);
  EXPECT_THAT(sweep.End(), IsOk());
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(200));
}

TEST_F(SweepTest, EmptyListEmptiesTheIndex) {
  Scan({File(100, 8, 1), File(200, 8, 2)});
  Sweep sweep = NewSweep();
  EXPECT_THAT(sweep.End(), IsOk());
  EXPECT_THAT(Addresses(Kind::kExtent), IsEmpty());
  EXPECT_EQ(Queue().queued_count(), 0);
}

}  // namespace
}  // namespace onefold::index
