#include "coordinator/scan_upload.h"

#include "coordinator/testing/index_fixture.h"
#include "coordinator/testing/memory_store.h"

namespace onefold::index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ScanUploadTest : public IndexFixture {
 protected:
  MemoryStore& memory() { return static_cast<MemoryStore&>(*store_); }
  ScanUpload NewUpload(int64_t target_generation = 10) {
    return ScanUpload(
        *writer_, *volume_,
        {.incarnation = Record().incarnation(), .target_generation = target_generation});
  }
};

TEST_F(ScanUploadTest, CountsWhatItTakesIn) {
  EXPECT_EQ(Scan({File(100, 8, 1), File(200, 2, 2), WithoutChecksums(300, 5, ChecksumState::kNone),
                  WithoutChecksums(400, 1, ChecksumState::kPartial)}),
            4);

  EXPECT_EQ(Record().extent_count(), 4);
  EXPECT_EQ(Record().extent_blocks(), 16);
  EXPECT_EQ(Record().head_count(), 2);
  EXPECT_EQ(Record().new_head_count(), 2);
  EXPECT_EQ(Record().without_checksums_count(), 1);
  EXPECT_EQ(Record().partial_checksums_count(), 1);
  EXPECT_EQ(Queue().queued_count(), 2);
  EXPECT_EQ(Record().scanned_generation(), 10);
  EXPECT_THAT(Addresses(Kind::kIncomplete), ElementsAre(300, 400));
}

// The first scan queues everything by a flag: writing a row for each extent would cost a third
// more.
TEST_F(ScanUploadTest, FirstScanWritesNoQueue) {
  Scan({File(100, 8, 1), File(200, 8, 1)});
  EXPECT_THAT(Addresses(Kind::kWaiting), IsEmpty());
  EXPECT_EQ(Queue().queued_count(), 2);
}

// A worker that got no answer sends again. That must neither count twice nor queue what is settled.
TEST_F(ScanUploadTest, SendingAgainChangesNothing) {
  Scan({File(100, 8, 1), File(200, 8, 2)});
  EndBoth();
  Plan(PlanKind::kWhole);
  EndBoth();
  const auto before = memory().rows();
  EXPECT_EQ(Scan({File(100, 8, 1), File(200, 8, 2)}), 0);
  EXPECT_EQ(memory().rows(), before);
}

// btrfs gave the place to other data: nothing of the old must stay, or plans would name it for
// ever.
TEST_F(ScanUploadTest, AnotherGenerationReplacesAllRows) {
  Scan({WithAnchors(File(100, 200, 1), {{.digest = 64, .offset = 3}})});
  Report(100, v1::OUTCOME_PINNED, v1::HOLDER_SNAPSHOT);
  EXPECT_EQ(Scan({File(100, 2, 9, 0, 11)}, 11), 1);

  EXPECT_EQ(Find(100)->digest, 9u);
  EXPECT_THAT(Addresses(Kind::kOutcome), IsEmpty());
  EXPECT_EQ(Record().extent_count(), 1);
  EXPECT_EQ(Record().extent_blocks(), 2);
}

// Preallocated space that is written later changes neither address nor generation.
TEST_F(ScanUploadTest, ChecksumsThatComeLaterAreTakenIn) {
  Scan({WithoutChecksums(100, 8, ChecksumState::kNone), File(200, 8, 7)});
  Plan(PlanKind::kWhole);
  EndBoth();
  EXPECT_EQ(Scan({WithoutChecksums(100, 8, ChecksumState::kPartial)}, 11), 1);
  EXPECT_EQ(Record().partial_checksums_count(), 1);
  EXPECT_EQ(Scan({File(100, 8, 7)}, 12), 1);

  EXPECT_THAT(Addresses(Kind::kIncomplete), IsEmpty());
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200)));
}

// A look that came too early must not take a digest away.
TEST_F(ScanUploadTest, MissingChecksumsDoNotUndoADigest) {
  Scan({File(100, 8, 1)});
  EXPECT_EQ(Scan({WithoutChecksums(100, 8, ChecksumState::kNone)}), 0);
  EXPECT_EQ(Find(100)->digest, 1u);
}

TEST_F(ScanUploadTest, RowsMayComeInAnyOrderAndTwice) {
  ScanUpload upload = NewUpload();
  EXPECT_THAT(upload.Add({File(500, 1, 5)}, 0), IsOk());
  EXPECT_THAT(upload.Add({File(100, 1, 1), File(500, 1, 6)}, 0), IsOk());
  EXPECT_THAT(upload.End(), IsOk());
  EXPECT_EQ(upload.progress().new_count, 2);
  EXPECT_EQ(Find(500)->digest, 6u);
}

// What was not told to end must not move the cursor: the rest would never be scanned.
TEST_F(ScanUploadTest, BrokenUploadLeavesAPlaceToResume) {
  {
    ScanUpload upload = NewUpload(50);
    std::vector<Extent> rows;
    for (uint64_t i = 1; i <= kRowsPerRun; ++i) rows.push_back(File(i * 10, 1, i));
    EXPECT_THAT(upload.Add(rows, 10 * kRowsPerRun + 1), IsOk());
    EXPECT_THAT(upload.Add({File(10 * kRowsPerRun + 10, 1, 1)}, 10 * kRowsPerRun + 11), IsOk());
  }
  EXPECT_EQ(Record().scanned_generation(), 0);
  EXPECT_EQ(Record().resume_address_blocks(), 10 * kRowsPerRun + 1);
  EXPECT_EQ(Record().resume_generation(), 50);
  EXPECT_EQ(Record().extent_count(), static_cast<int64_t>(kRowsPerRun));

  Scan({File(10 * kRowsPerRun + 10, 1, 1)}, 51);
  EXPECT_EQ(Record().scanned_generation(), 51);
  EXPECT_EQ(Record().resume_address_blocks(), 0u);
}

TEST_F(ScanUploadTest, CursorNeverGoesBack) {
  Scan({}, 30);
  Scan({}, 20);
  EXPECT_EQ(Record().scanned_generation(), 30);
}

// An acknowledgement means durable: a failed write must not count as progress.
TEST_F(ScanUploadTest, FailedWriteIsReportedAndNothingMoves) {
  memory().FailWrites(absl::ResourceExhaustedError("disk full"));
  ScanUpload upload = NewUpload();
  EXPECT_THAT(upload.Add({File(100, 8, 1)}, 200), IsOk());
  EXPECT_THAT(upload.End(), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(upload.progress().durable_below, 0u);
  EXPECT_EQ(Record().extent_count(), 0);
  memory().FailWrites(absl::OkStatus());
}

TEST_F(ScanUploadTest, WrongIncarnationIsRefused) {
  ScanUpload upload(*writer_, *volume_, {.incarnation = 1});
  EXPECT_THAT(upload.End(), HasCode(absl::StatusCode::kFailedPrecondition));
}

// What is queued while a plan is under way belongs to the next one.
TEST_F(ScanUploadTest, ExtentsScannedDuringAPlanStayQueued) {
  Scan({File(100, 8, 1)});
  Plan(PlanKind::kWhole);
  Scan({File(200, 8, 1)}, 11);
  EndBoth();
  EXPECT_THAT(Addresses(Kind::kWaiting), ElementsAre(200));
  EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200)));
}

// New data that lies inside old data is found without streaming the old data again.
TEST_F(ScanUploadTest, AnchorsFindNewExtentsInsideOldOnes) {
  Scan({WithAnchors(File(1000, 500, 1), {{.digest = 64, .offset = 300}})});
  Plan(PlanKind::kWhole);
  EndBoth();
  Scan({WithAnchors(File(5000, 100, 2), {{.digest = 64, .offset = 20}})}, 11);

  const std::vector<PlanGroup> groups = PlanGroups(PlanKind::kInside);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members[0].address, 5000u);
  EXPECT_EQ(groups[0].members[1].address, 1000u);
  EXPECT_EQ(groups[0].members[1].delta, 280);
}

TEST_F(ScanUploadTest, AnchorsOfEqualExtentsAreLeftToWholeGroups) {
  Scan({WithAnchors(File(1000, 500, 1), {{.digest = 64, .offset = 300}})});
  Plan(PlanKind::kWhole);
  EndBoth();
  Scan({WithAnchors(File(5000, 500, 1), {{.digest = 64, .offset = 300}})}, 11);
  EXPECT_THAT(Plan(PlanKind::kInside), IsEmpty());
}

}  // namespace
}  // namespace onefold::index
