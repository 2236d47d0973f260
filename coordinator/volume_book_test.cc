#include "coordinator/volume_book.h"

#include "coordinator/testing/index_fixture.h"
#include "coordinator/testing/index_invariants.h"
#include "coordinator/testing/memory_store.h"

namespace onefold::index {
namespace {

using ::testing::IsEmpty;
using ::testing::Ne;

class VolumeBookTest : public IndexFixture {};

TEST_F(VolumeBookTest, RecordsSurviveARestart) {
  Scan({File(100, 8, 1)}, 33);
  const VolumeRecord before = Record();
  Reopen();
  EXPECT_EQ(Record().SerializeAsString(), before.SerializeAsString());
}

// A filesystem that was restored from an image would be taken for scanned.
TEST_F(VolumeBookTest, CursorAboveTheFilesystemBeginsANewLife) {
  Scan({File(100, 8, 1)}, 33);
  const uint64_t old_incarnation = Record().incarnation();
  ASSERT_THAT(book_->FindOrMake(kTestVolume, kTestShape, 33), IsOk());
  EXPECT_EQ(Record().incarnation(), old_incarnation);

  ASSERT_THAT(book_->FindOrMake(kTestVolume, kTestShape, 32), IsOk());
  EXPECT_NE(Record().incarnation(), old_incarnation);
  EXPECT_EQ(Record().scanned_generation(), 0);
  EXPECT_EQ(Record().extent_count(), 0);
  EXPECT_THAT(RowsWith(*store_, "E"), IsEmpty());
  EXPECT_THAT(RowsWith(*store_, "F"), IsEmpty());
  Scan({File(100, 8, 1)}, 12);
}

// Fingerprints compare only within one kind and block size.
TEST_F(VolumeBookTest, AnotherShapeBeginsANewLife) {
  Scan({File(100, 8, 1)}, 33);
  const uint64_t old_incarnation = Record().incarnation();
  ASSERT_THAT(book_->FindOrMake(kTestVolume, {.block_bytes = 4096, .checksum_kind = 2}, 1000),
              IsOk());
  EXPECT_NE(Record().incarnation(), old_incarnation);
  EXPECT_EQ(Record().extent_count(), 0);
}

TEST_F(VolumeBookTest, VolumesDoNotSeeEachOther) {
  Scan({File(100, 8, 1), File(200, 8, 1)});
  const auto other = book_->FindOrMake({{9}}, kTestShape, 1000);
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT((*other)->Record().number(), Ne(Record().number()));
  EXPECT_EQ((*other)->Record().extent_count(), 0);
}

// An interrupted reset leaves rows of a number that nobody has; they must not stay, nor be mistaken
// for those of a later volume.
TEST_F(VolumeBookTest, RowsWithoutAVolumeAreDropped) {
  Scan({File(100, 8, 1)});
  RowBatch batch;
  batch.Put(AddressKey(Kind::kExtent, {77}, 1), EncodeRow(File(1, 1, 1)));
  batch.Put(AddressKey(Kind::kWaiting, {78}, 1), EncodeRow(Waiting{}));
  ASSERT_THAT(store_->Write(batch), IsOk());
  Reopen();
  EXPECT_EQ(RowsWith(*store_, "E").size(), 1u);
  EXPECT_THAT(RowsWith(*store_, "W"), IsEmpty());
  const auto other = book_->FindOrMake({{9}}, kTestShape, 1000);
  ASSERT_THAT(other, IsOk());
  EXPECT_GT((*other)->Record().number(), 78u);
}

TEST_F(VolumeBookTest, FailedChangeLeavesRecordAndRows) {
  const absl::Status failed =
      volume_->Update(Record().incarnation(), [](VolumeRecord& record, RowBatch& batch) {
        record.set_extent_count(5);
        batch.Put("E", "");
        return absl::InternalError("no");
      });
  EXPECT_THAT(failed, HasCode(absl::StatusCode::kInternal));
  EXPECT_EQ(Record().extent_count(), 0);
  EXPECT_THAT(RowsWith(*store_, "E"), IsEmpty());
}

TEST_F(VolumeBookTest, DamagedRecordIsDataLoss) {
  RowBatch batch;
  batch.Put(VolumeKey({{5}}), "\xff\xff\xff");
  ASSERT_THAT(store_->Write(batch), IsOk());
  EXPECT_THAT(VolumeBook::Open(*store_), HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace onefold::index
