#include "coordinator/outcome_recorder.h"

#include "coordinator/testing/index_fixture.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OutcomeRecorderTest : public IndexFixture {
 protected:
  // A volume whose first plan is behind it: the queue has rows from now on.
  void Settle(std::vector<Extent> extents) {
    Scan(std::move(extents));
    Plan(PlanKind::kWhole);
    EndBoth();
  }
  int64_t PinnedBytesBy(v1::Holder holder) {
    const VolumeRecord record = Record();
    for (const storage::v1::PinnedRecord& pinned : record.pinned()) {
      if (pinned.holder() == holder) return pinned.block_count() * 4096;
    }
    return 0;
  }
};

TEST_F(OutcomeRecorderTest, FreedExtentsAreForgotten) {
  Scan({File(100, 8, 1), File(200, 8, 1)});
  Report(100, v1::OUTCOME_KEPT);
  Report(200, v1::OUTCOME_FREED);
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(100));
  EXPECT_TRUE(Find(100)->kept);
  EXPECT_THAT(Plan(PlanKind::kWhole), IsEmpty());
}

// Two runs choosing different copies to keep would move references back and forth.
TEST_F(OutcomeRecorderTest, LaterGroupsSayWhatWasKept) {
  Scan({File(100, 8, 1), File(200, 8, 1)});
  Report(200, v1::OUTCOME_KEPT);
  Report(100, v1::OUTCOME_FREED);
  Scan({File(50, 8, 1)}, 11);
  const auto groups = PlanGroups(PlanKind::kWhole);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_FALSE(groups[0].members[0].kept_before);
  EXPECT_TRUE(groups[0].members[1].kept_before);
}

// The address may hold new data by now: an answer about the old must not touch it.
TEST_F(OutcomeRecorderTest, ResultsOfAnotherGenerationAreIgnored) {
  Scan({File(100, 8, 1, 0, 10), File(200, 8, 1)});
  Report(100, v1::OUTCOME_FREED, v1::HOLDER_UNSPECIFIED, 9);
  Report(300, v1::OUTCOME_FREED);
  EXPECT_THAT(Addresses(Kind::kExtent), ElementsAre(100, 200));
}

// Reports are sent again when an answer was lost.
TEST_F(OutcomeRecorderTest, OutcomesCountOnce) {
  Settle({File(100, 8, 1), File(200, 8, 1), File(300, 8, 1), File(400, 8, 1)});
  Scan({File(500, 8, 1)}, 11);
  for (int i = 0; i < 2; ++i) {
    Report(100, v1::OUTCOME_KEPT);
    Report(200, v1::OUTCOME_FREED);
    Report(300, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
    Report(400, v1::OUTCOME_OUT_OF_SCOPE);
    Report(500, v1::OUTCOME_RETRY);
  }
  EXPECT_EQ(Record().extent_count(), 4);
  EXPECT_EQ(PinnedBytesBy(v1::HOLDER_SNAPSHOT), 8 * 4096);
  EXPECT_EQ(Record().out_of_scope_count(), 1);
  EXPECT_EQ(Queue().queued_count(), 1);
}

TEST_F(OutcomeRecorderTest, LastOfSeveralResultsInABatchCounts) {
  Scan({File(100, 8, 1)});
  EXPECT_THAT(RecordResults(*store_, *volume_, Record().incarnation(),
                            {{.address = 100, .generation = 10, .outcome = v1::OUTCOME_RETRY},
                             {.address = 100, .generation = 10, .outcome = v1::OUTCOME_DIFFERS}}),
              IsOk());
  EXPECT_EQ(Queue().queued_count(), 0);
}

// A pinned extent is counted for the holder that was met last, and no more once it is gone.
TEST_F(OutcomeRecorderTest, PinnedBytesFollowTheHolder) {
  Scan({File(100, 8, 1), File(200, 2, 2)});
  Report(100, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  Report(200, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  Report(100, v1::OUTCOME_PINNED, v1::HOLDER_TAIL);
  EXPECT_EQ(PinnedBytesBy(v1::HOLDER_SNAPSHOT), 2 * 4096);
  EXPECT_EQ(PinnedBytesBy(v1::HOLDER_TAIL), 8 * 4096);
  Report(100, v1::OUTCOME_GONE);
  EXPECT_EQ(PinnedBytesBy(v1::HOLDER_TAIL), 0);
}

// A second run over an unchanged volume has nothing to do.
TEST_F(OutcomeRecorderTest, EndOfAPlanEmptiesTheQueue) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 2)});
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_DIFFERS);
  EndBoth();
  EXPECT_EQ(Queue().queued_count(), 0);
  EXPECT_FALSE(Queue().everything());
  EXPECT_THAT(Plan(PlanKind::kWhole), IsEmpty());
}

// Busy or changed now: the next run must try again, and only that.
TEST_F(OutcomeRecorderTest, RetryStaysQueued) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 2)});
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_KEPT);
  Report(200, v1::OUTCOME_RETRY);
  EndBoth();
  EXPECT_THAT(Addresses(Kind::kWaiting), ElementsAre(200));
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200)));
  Report(200, v1::OUTCOME_RETRY);
  EndBoth();
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200)));
}

// A worker that was killed, or only wanted to see, has settled nothing.
TEST_F(OutcomeRecorderTest, WithoutItsEndAPlanChangesNothing) {
  Scan({File(100, 8, 1), File(200, 8, 1)});
  Plan(PlanKind::kWhole);
  Reopen();
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200)));
}

// What was never matched inside others must wait until somebody does that.
TEST_F(OutcomeRecorderTest, EndOfWholePlansLeavesWhatWaitsForInsidePlans) {
  Scan({File(100, 8, 1), File(200, 8, 2)});
  Plan(PlanKind::kWhole);
  EndWhole();
  EXPECT_EQ(Queue().queued_count(), 2);
  EXPECT_THAT(Plan(PlanKind::kWhole), IsEmpty());
  EndBoth();
  EXPECT_EQ(Queue().queued_count(), 0);
}

// A kept extent may lie inside a bigger one: it waits for that question alone.
TEST_F(OutcomeRecorderTest, KeptExtentsStillWaitForInsidePlans) {
  Settle({File(100, 8, 1)});
  Scan({File(200, 8, 1)}, 11);
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_FREED);
  Report(200, v1::OUTCOME_KEPT);
  Scan({File(300, 8, 7)}, 12);
  EXPECT_EQ(Queue().queued_count(), 2);
  EXPECT_THAT(Plan(PlanKind::kWhole), IsEmpty());
  EndBoth();
  EXPECT_EQ(Queue().queued_count(), 0);
}

TEST_F(OutcomeRecorderTest, AnotherSetOfSubvolumesQueuesPinnedExtentsAgain) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 1)});
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_KEPT);
  Report(200, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  Report(300, v1::OUTCOME_OUT_OF_SCOPE);
  EndBoth(/*subvolumes=*/1, /*scope=*/1);

  ReconsiderAt({.scope_digest = 1, .subvolume_set_digest = 1});
  EXPECT_THAT(Addresses(Kind::kWaiting), IsEmpty());
  ReconsiderAt({.scope_digest = 1, .subvolume_set_digest = 2});
  EXPECT_THAT(Addresses(Kind::kWaiting), ElementsAre(200));
  EXPECT_EQ(PinnedBytesBy(v1::HOLDER_SNAPSHOT), 0);
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200, 300)));
}

TEST_F(OutcomeRecorderTest, AnotherScopeQueuesAllOutcomesThatDependOnIt) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 1), File(400, 8, 4)});
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_KEPT);
  Report(200, v1::OUTCOME_PINNED, v1::HOLDER_EXCLUDED);
  Report(300, v1::OUTCOME_OUT_OF_SCOPE);
  EndBoth(1, 1);
  ReconsiderAt({.scope_digest = 2, .subvolume_set_digest = 1});
  EXPECT_THAT(Addresses(Kind::kWaiting), ElementsAre(200, 300));
}

// chattr -i leaves no trace where the scan looks.
TEST_F(OutcomeRecorderTest, ARunLooksAgainAtWhatFlagsOfFilesHold) {
  Scan({File(100, 8, 1), File(200, 8, 1), File(300, 8, 1)});
  Plan(PlanKind::kWhole);
  Report(100, v1::OUTCOME_KEPT);
  Report(200, v1::OUTCOME_PINNED, v1::HOLDER_IMMUTABLE);
  Report(300, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  EndBoth(1, 1);
  ReconsiderAt({.scope_digest = 1, .subvolume_set_digest = 1});
  EXPECT_THAT(Addresses(Kind::kWaiting), IsEmpty());
  ReconsiderAt({.scope_digest = 1, .subvolume_set_digest = 1, .run_begins = true});
  EXPECT_THAT(Addresses(Kind::kWaiting), ElementsAre(200));
}

// A worker syncs while it works. Outcomes it just recorded under the new scope must stand.
TEST_F(OutcomeRecorderTest, OutcomesOfTheSameCircumstancesStand) {
  Scan({File(100, 8, 1), File(200, 8, 1)});
  ReconsiderAt({.scope_digest = 5, .subvolume_set_digest = 5});
  Plan(PlanKind::kWhole);
  Report(200, v1::OUTCOME_OUT_OF_SCOPE);
  ReconsiderAt({.scope_digest = 5, .subvolume_set_digest = 5});
  EXPECT_THAT(Addresses(Kind::kWaiting), IsEmpty());
  EXPECT_EQ(Record().out_of_scope_count(), 1);
}

TEST_F(OutcomeRecorderTest, WrongIncarnationIsRefused) {
  EXPECT_THAT(RecordResults(*store_, *volume_, 1, {}),
              HasCode(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace onefold::index
