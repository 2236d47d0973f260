// Scans of several volumes at a time. What holds for each of them alone is in scan_upload_test.cc.

#include "coordinator/scan_writer.h"

#include <thread>

#include "common/check.h"
#include "coordinator/plan_memory.h"
#include "coordinator/scan_upload.h"
#include "coordinator/testing/index_fixture.h"
#include "coordinator/testing/index_invariants.h"
#include "coordinator/testing/memory_store.h"

namespace onefold::index {
namespace {

class ScanWriterTest : public IndexFixture {
 protected:
  MemoryStore& memory() { return static_cast<MemoryStore&>(*store_); }
  Volume& NewVolume(uint8_t number) {
    const auto volume = book_->FindOrMake({{9, number}}, kTestShape, 1000);
    CHECK(volume.ok());
    return **volume;
  }
  static ScanOptions OptionsOf(Volume& volume) {
    return {.incarnation = volume.Record().incarnation(), .target_generation = 10};
  }
};

// Runs much smaller than what comes: scans wait for each other's rows to be written, and none is
// forgotten, mixed up with another, or acknowledged before it is written.
TEST_F(ScanWriterTest, ManyScansShareRunsAndMemory) {
  constexpr int kVolumes = 12;
  constexpr uint64_t kBatches = 20;
  ScanWriter writer(*store_, /*rows_per_run=*/8);
  std::vector<Volume*> volumes;
  for (uint8_t i = 0; i < kVolumes; ++i) volumes.push_back(&NewVolume(i));
  std::vector<std::thread> threads;
  for (int i = 0; i < kVolumes; ++i) {
    threads.emplace_back([&, i] {
      ScanUpload upload(writer, *volumes[i], OptionsOf(*volumes[i]));
      for (uint64_t batch = 0; batch < kBatches; ++batch) {
        const uint64_t address = 100 + batch * 30 + static_cast<uint64_t>(i);
        upload.AwaitRoom(3);
        EXPECT_THAT(upload.Add({File(address, 8, address), File(address + 10, 8, 7)}, 0), IsOk());
      }
      EXPECT_THAT(upload.End(), IsOk());
      EXPECT_EQ(upload.progress().new_count, static_cast<int64_t>(2 * kBatches));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Volume* const volume : volumes) {
    EXPECT_EQ(volume->Record().extent_count(), static_cast<int64_t>(2 * kBatches));
    EXPECT_EQ(volume->Record().scanned_generation(), 10);
    EXPECT_THAT(Violations(*store_, volume->Record()), ::testing::IsEmpty());
  }
}

// One worker that is behind its time must not spoil the run of the others.
TEST_F(ScanWriterTest, AScanThatIsRefusedFailsAlone) {
  Volume& other = NewVolume(1);
  ScanUpload stale(*writer_, *volume_, {.incarnation = 1});
  ScanUpload good(*writer_, other, OptionsOf(other));
  EXPECT_THAT(stale.Add({File(100, 8, 1)}, 0), IsOk());
  EXPECT_THAT(good.Add({File(100, 8, 1)}, 0), IsOk());
  EXPECT_THAT(good.End(), IsOk());
  EXPECT_THAT(stale.End(), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(other.Record().extent_count(), 1);
  EXPECT_EQ(Record().extent_count(), 0);
}

TEST_F(ScanWriterTest, AFailedWriteFailsAllWhoseRowsItHeld) {
  Volume& other = NewVolume(1);
  ScanUpload first(*writer_, *volume_, OptionsOf(*volume_));
  ScanUpload second(*writer_, other, OptionsOf(other));
  memory().FailWrites(absl::ResourceExhaustedError("disk full"));
  EXPECT_THAT(first.Add({File(100, 8, 1)}, 0), IsOk());
  EXPECT_THAT(second.Add({File(100, 8, 1)}, 0), IsOk());
  EXPECT_THAT(second.End(), HasCode(absl::StatusCode::kResourceExhausted));
  memory().FailWrites(absl::OkStatus());
  // What comes behind what is missing must not move the cursor past it.
  EXPECT_THAT(first.Add({File(200, 8, 1)}, 0), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(first.End(), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(Record().scanned_generation(), 0);
  EXPECT_EQ(other.Record().extent_count(), 0);
}

// A worker that syncs while its rows are written must not wait for them.
TEST_F(ScanWriterTest, RecordsAreReadWhileAnUpdateIsUnderWay) {
  EXPECT_THAT(volume_->Update(Record().incarnation(),
                              [&](VolumeRecord& record, RowBatch&) {
                                record.set_has_matches(true);
                                EXPECT_FALSE(Record().has_matches());
                                return absl::OkStatus();
                              }),
              IsOk());
  EXPECT_TRUE(Record().has_matches());
}

TEST(PlanMemoryTest, IsSharedAndGivenBack) {
  PlanMemory memory(3 * kCandidatesMax);
  {
    const PlanMemory::Share large = memory.Take(2 * kCandidatesMax);
    EXPECT_EQ(large.candidates_max(), 2 * kCandidatesMax);
    const PlanMemory::Share rest = memory.Take(2 * kCandidatesMax);
    EXPECT_EQ(rest.candidates_max(), kCandidatesMax);
    EXPECT_EQ(memory.Take(1000).candidates_max(), kCandidatesMax);
  }
  EXPECT_EQ(memory.Take(1 << 30).candidates_max(), 3 * kCandidatesMax);
}

TEST(RowBatchTest, TruncatedChangesAreGone) {
  RowBatch batch;
  batch.Put("a", std::string(3000, 'x'));
  batch.Delete("b");
  batch.Truncate(1);
  batch.Put("b", "y");
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].value, std::string(3000, 'x'));
  EXPECT_TRUE(batch[1].is_put);
  EXPECT_EQ(batch[1].value, "y");
}

}  // namespace
}  // namespace onefold::index
