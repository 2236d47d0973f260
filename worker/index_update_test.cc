#include "worker/index_update.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/limits.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_coordinator.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kBlock = 4096;
constexpr uint64_t kBase = uint64_t{1} << 30;

uint64_t At(int64_t block) { return kBase + static_cast<uint64_t>(block * kBlock); }

class IndexUpdateTest : public ::testing::Test {
 protected:
  IndexUpdateTest() { volume_.AddChunk(kBase, 100000); }

  VolumeOrder ScannedUpTo(int64_t generation) {
    VolumeOrder order;
    order.leased = true;
    order.scanned_generation = generation;
    return order;
  }
  absl::Status Scan(const VolumeOrder& order, int64_t target_generation = 200) {
    return update_.Scan(order, target_generation);
  }
  // Rows of the only scan.
  std::vector<FakeCoordinator::Row> Rows() {
    EXPECT_THAT(coordinator_.scans, SizeIs(1));
    return coordinator_.scans.empty() ? std::vector<FakeCoordinator::Row>{}
                                      : coordinator_.scans[0].rows;
  }
  // What is said to be complete must have been sent before: an upload that breaks off goes on
  // there.
  static void ExpectHonest(const FakeCoordinator::Upload& upload,
                           const std::vector<uint64_t>& addresses) {
    for (const auto& mark : upload.complete_below) {
      std::set<uint64_t> sent;
      for (size_t i = 0; i < mark.row_count; ++i) sent.insert(upload.rows[i].address);
      for (const uint64_t address : addresses) {
        if (address >= mark.address) continue;
        EXPECT_EQ(sent.count(address), 1u) << address << " is not below " << mark.address;
      }
    }
  }
  static std::vector<uint64_t> Digests(const std::vector<FakeCoordinator::Hit>& hits) {
    std::vector<uint64_t> digests;
    for (const auto& hit : hits) digests.push_back(hit.digest);
    return digests;
  }
  uint64_t Digest(const Blocks& blocks) { return ChecksumDigest(volume_.Checksums(blocks)); }

  FakeVolume volume_;
  FakeCoordinator coordinator_;
  StopSignal stop_;
  Progress progress_;
  IndexUpdate update_{volume_, coordinator_, stop_, progress_};
};

// ---- Scan

TEST_F(IndexUpdateTest, FirstScanSendsEveryExtentOnce) {
  volume_.AddExtent(At(10), "efgh");
  volume_.AddExtent(At(0), "abcd");
  const InodeId file = volume_.AddFile("f");
  for (int i = 0; i < 10; ++i) volume_.MapExtent(file, At(0), {.at = -1});
  coordinator_.totals.extent_count = 2;
  ASSERT_THAT(Scan(ScannedUpTo(0)), IsOk());
  const auto rows = Rows();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].address, At(0));
  EXPECT_EQ(rows[0].length_blocks, 4u);
  EXPECT_EQ(rows[0].generation, 100u);
  ASSERT_TRUE(rows[0].fingerprint.has_value());
  EXPECT_EQ(rows[0].fingerprint->digest, Digest("abcd"));
  EXPECT_EQ(rows[1].address, At(10));
  EXPECT_EQ(rows[1].fingerprint->head->digest, Digest("efg"));
  EXPECT_TRUE(coordinator_.scans[0].ended);
  EXPECT_EQ(coordinator_.scans[0].target_generation, 200);
  EXPECT_EQ(update_.extents_scanned(), 2);
  EXPECT_EQ(update_.bytes_scanned(), 8 * kBlock);
  EXPECT_EQ(update_.totals().extent_count, 2);
  EXPECT_EQ(progress_.scan_bytes_done.load(), 8 * kBlock);
}

TEST_F(IndexUpdateTest, EmptyVolumeIsScanned) {
  ASSERT_THAT(Scan(ScannedUpTo(0)), IsOk());
  EXPECT_THAT(Rows(), IsEmpty());
  EXPECT_TRUE(coordinator_.scans[0].ended);
}

// Preallocated, nodatasum, partly written: known by their kind, and not by a digest of zeros.
TEST_F(IndexUpdateTest, ExtentsWithoutChecksumsAreSentAsSuch) {
  volume_.AddExtent(At(0), "abcd", {.checksums = false});
  volume_.AddExtent(At(4), "efgh", {.checksums = false});
  volume_.SetChecksums(At(5), "f");
  volume_.AddExtent(At(8), "ijkl");
  ASSERT_THAT(Scan(ScannedUpTo(0)), IsOk());
  const auto rows = Rows();
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].state, ChecksumState::kNone);
  EXPECT_EQ(rows[1].state, ChecksumState::kPartial);
  EXPECT_EQ(rows[2].state, ChecksumState::kComplete);
  EXPECT_FALSE(rows[0].fingerprint.has_value());
  EXPECT_FALSE(rows[1].fingerprint.has_value());
  EXPECT_EQ(update_.extents_scanned(), 1) << "only what was fingerprinted counts";
}

TEST_F(IndexUpdateTest, IncrementalScanSendsWhatIsNew) {
  volume_.AddExtent(At(0), "a", {.generation = 50});
  volume_.AddExtent(At(1), "b", {.generation = 51});
  volume_.AddExtent(At(2), "c", {.generation = 60});
  volume_.AddExtent(At(3), "d", {.generation = 40});
  // Old item of a new leaf.
  volume_.SetLeafGeneration(kExtentTree, {At(3), kExtentItem, 4096}, 60);
  ASSERT_THAT(Scan(ScannedUpTo(50)), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(), ElementsAre(At(1), At(2)));
}

// Nothing new: neither rows nor a walk over old leaves.
TEST_F(IndexUpdateTest, NothingNewCostsNextToNothing) {
  for (int i = 0; i < 1000; ++i) volume_.AddExtent(At(i), "a", {.generation = 50});
  ASSERT_THAT(Scan(ScannedUpTo(50)), IsOk());
  EXPECT_THAT(Rows(), IsEmpty());
  EXPECT_EQ(volume_.items_read(kExtentTree), 0);
  EXPECT_TRUE(coordinator_.scans[0].ended);
}

// A scan that broke off has sent all below some address as of its own generation: below, only what
// is newer than that scan is missing, above everything that is newer than the last complete one.
TEST_F(IndexUpdateTest, ResumedScanGoesOnWhereItBrokeOff) {
  for (int i = 0; i < 8; ++i) {
    volume_.AddExtent(At(i), "a", {.generation = static_cast<uint64_t>(i % 2 == 0 ? 60 : 80)});
  }
  VolumeOrder order = ScannedUpTo(0);
  order.resume_address = At(4);
  order.resume_generation = 70;
  ASSERT_THAT(Scan(order), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(),
              ElementsAre(At(1), At(3), At(4), At(5), At(6), At(7)));
}

TEST_F(IndexUpdateTest, ResumedIncrementalScanKeepsBothCursors) {
  const std::vector<uint64_t> generations = {50, 65, 80, 50, 65, 80};
  for (size_t i = 0; i < generations.size(); ++i) {
    volume_.AddExtent(At(static_cast<int64_t>(i)), "a", {.generation = generations[i]});
  }
  VolumeOrder order = ScannedUpTo(60);
  order.resume_address = At(3);
  order.resume_generation = 70;
  ASSERT_THAT(Scan(order), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(), ElementsAre(At(2), At(4), At(5)));
}

TEST_F(IndexUpdateTest, ResumeFallsBetweenChunks) {
  volume_.AddChunk(At(200000), 1000);
  volume_.AddChunk(At(300000), 1000);
  for (const int64_t block : {0, 200000, 300000})
    volume_.AddExtent(At(block), "a", {.generation = 60});
  VolumeOrder order = ScannedUpTo(0);
  order.resume_address = At(250000);
  order.resume_generation = 70;
  ASSERT_THAT(Scan(order), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(), ElementsAre(At(300000)));
}

TEST_F(IndexUpdateTest, WhatIsCalledCompleteHasBeenSent) {
  volume_.AddChunk(At(200000), 1000);
  std::vector<uint64_t> addresses;
  for (const int64_t block : {0, 1, 2, 500, 501, 99999, 200000, 200999}) {
    volume_.AddExtent(At(block), "a");
    addresses.push_back(At(block));
  }
  ASSERT_THAT(Scan(ScannedUpTo(0)), IsOk());
  EXPECT_THAT(coordinator_.scans[0].complete_below, Not(IsEmpty()));
  ExpectHonest(coordinator_.scans[0], addresses);
  ASSERT_THAT(update_.Sweep(), IsOk());
  ExpectHonest(coordinator_.sweeps[0], addresses);
}

// The cursor must not move: what was not sent would never be sent again.
TEST_F(IndexUpdateTest, LostConnectionEndsNothing) {
  std::vector<uint64_t> addresses;
  for (int i = 0; i < 10; ++i) {
    volume_.AddExtent(At(i), "a");
    addresses.push_back(At(i));
  }
  coordinator_.upload_rows_max = 4;
  EXPECT_THAT(Scan(ScannedUpTo(0)), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(coordinator_.scans[0].ended);
  ExpectHonest(coordinator_.scans[0], addresses);
}

TEST_F(IndexUpdateTest, SignalEndsTheScanWithoutItsEnd) {
  for (int i = 0; i < 10; ++i) volume_.AddExtent(At(i), "a");
  stop_.Request(StopSignal::Reason::kInterrupted);
  EXPECT_THAT(Scan(ScannedUpTo(0)), HasCode(absl::StatusCode::kCancelled));
  EXPECT_FALSE(coordinator_.scans[0].ended);
}

TEST_F(IndexUpdateTest, UnreadableTreesEndTheScan) {
  volume_.AddExtent(At(0), "a");
  volume_.FailSearch(kChecksumTree, absl::DataLossError("bad leaf"));
  EXPECT_THAT(Scan(ScannedUpTo(0)), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(coordinator_.scans[0].ended);
}

// ---- Checksums that come later

class RecheckTest : public IndexUpdateTest {
 protected:
  // Preallocated in generation 50, known as incomplete.
  void Preallocate(int64_t block, int64_t blocks, ChecksumState state = ChecksumState::kNone) {
    volume_.AddExtent(At(block), Blocks::Zeros(blocks), {.generation = 50, .checksums = false});
    coordinator_.incomplete.push_back({.address = At(block),
                                       .length_blocks = static_cast<uint32_t>(blocks),
                                       .generation = 50,
                                       .state = state});
  }
};

// A write into preallocated space changes neither address nor generation.
TEST_F(RecheckTest, ExtentThatWasFilledIsSent) {
  Preallocate(0, 2);
  volume_.SetChecksums(At(0), "ab", 70);
  ASSERT_THAT(Scan(ScannedUpTo(60)), IsOk());
  const auto rows = Rows();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].address, At(0));
  EXPECT_EQ(rows[0].generation, 50u);
  EXPECT_EQ(rows[0].state, ChecksumState::kComplete);
  EXPECT_EQ(rows[0].fingerprint->digest, Digest("ab"));
}

TEST_F(RecheckTest, ExtentThatWasPartlyFilledIsSentAsSuch) {
  Preallocate(0, 4);
  volume_.SetChecksums(At(1), "b", 70);
  ASSERT_THAT(Scan(ScannedUpTo(60)), IsOk());
  ASSERT_THAT(Rows(), SizeIs(1));
  EXPECT_EQ(Rows()[0].state, ChecksumState::kPartial);
}

TEST_F(RecheckTest, ExtentsWithoutNewChecksumsAreNotLookedAt) {
  Preallocate(0, 4);
  Preallocate(10, 4);
  Preallocate(20, 4);
  volume_.SetChecksums(At(4), "x", 70);      // ends where the first one ends
  volume_.SetChecksums(At(8), "xy", 70);     // touches the second one
  volume_.SetChecksums(At(20), "abcd", 55);  // old
  const int64_t before = volume_.searches(kExtentTree);
  ASSERT_THAT(Scan(ScannedUpTo(60)), IsOk());
  EXPECT_THAT(Rows(), IsEmpty());
  EXPECT_EQ(volume_.searches(kExtentTree) - before, 1) << "the scan itself";
}

TEST_F(RecheckTest, OnlyWhatIsStillTheSameExtentIsSent) {
  Preallocate(0, 2);
  Preallocate(4, 2);
  volume_.EraseItem(kExtentTree, {At(0), kExtentItem, 2 * kBlock});
  volume_.EraseItem(kExtentTree, {At(4), kExtentItem, 2 * kBlock});
  volume_.AddExtent(At(4), "xy", {.generation = 70});  // comes with the scan, once
  volume_.SetChecksums(At(0), "ab", 70);
  ASSERT_THAT(Scan(ScannedUpTo(60)), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(), ElementsAre(At(4)));
}

// The first scan looks at everything anyway.
TEST_F(RecheckTest, FirstScanRechecksNothing) {
  Preallocate(0, 2);
  volume_.SetChecksums(At(0), "ab", 70);
  ASSERT_THAT(Scan(ScannedUpTo(0)), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(), ElementsAre(At(0)));
}

// The first scan broke off, and what it had sent below was filled meanwhile. When this one ends,
// the cursor is behind those checksums: nobody would look again.
TEST_F(RecheckTest, ResumedFirstScanRechecksWhatItHadSent) {
  Preallocate(0, 2);
  volume_.SetChecksums(At(0), "ab", 75);
  VolumeOrder order = ScannedUpTo(0);
  order.resume_address = At(100);
  order.resume_generation = 70;
  ASSERT_THAT(Scan(order), IsOk());
  EXPECT_THAT(coordinator_.scans[0].addresses(), ElementsAre(At(0)));
}

TEST_F(RecheckTest, SignalEndsTheRecheck) {
  Preallocate(0, 2);
  volume_.SetChecksums(At(0), "ab", 70);
  stop_.Request(StopSignal::Reason::kInterrupted);
  EXPECT_THAT(Scan(ScannedUpTo(60)), HasCode(absl::StatusCode::kCancelled));
  EXPECT_FALSE(coordinator_.scans[0].ended);
}

// ---- Sweep

// Whatever is missing in it is deleted from the index.
TEST_F(IndexUpdateTest, SweepSendsEveryExtentWhateverItsAge) {
  volume_.AddExtent(At(0), "ab", {.generation = 10});
  volume_.AddExtent(At(5), "cd", {.generation = 90, .checksums = false});
  volume_.AddExtent(At(7), "e", {.generation = 10});
  ASSERT_THAT(update_.Sweep(), IsOk());
  const FakeCoordinator::Upload& sweep = coordinator_.sweeps[0];
  EXPECT_THAT(sweep.addresses(), ElementsAre(At(0), At(5), At(7)));
  EXPECT_EQ(sweep.rows[1].length_blocks, 2u);
  EXPECT_EQ(sweep.rows[1].generation, 90u);
  EXPECT_TRUE(sweep.ended);
  EXPECT_EQ(volume_.searches(kChecksumTree), 0) << "needs no checksums";
}

// Ended early, it would delete the rest of the index.
TEST_F(IndexUpdateTest, SweepThatBreaksOffIsNotEnded) {
  for (int i = 0; i < 10; ++i) volume_.AddExtent(At(i), "a");
  stop_.Request(StopSignal::Reason::kInterrupted);
  EXPECT_THAT(update_.Sweep(), HasCode(absl::StatusCode::kCancelled));
  EXPECT_FALSE(coordinator_.sweeps[0].ended);
  volume_.FailSearch(kExtentTree, absl::DataLossError("bad leaf"));
  StopSignal none;
  IndexUpdate update(volume_, coordinator_, none, progress_);
  EXPECT_THAT(update.Sweep(), HasCode(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(coordinator_.sweeps[1].ended);
}

// ---- Windows

TEST_F(IndexUpdateTest, FullPassFindsTheHeadInTheImage) {
  volume_.AddExtent(At(0), Blocks::Series(1, 50));
  volume_.AddExtent(At(100), Blocks::Series(1, 10, 30));
  coordinator_.heads = {Digest(Blocks::Series(1, 4, 30))};
  ASSERT_THAT(update_.StreamWindows(0), IsOk());
  ASSERT_THAT(coordinator_.hit_lists, SizeIs(1));
  const FakeCoordinator::HitList& list = coordinator_.hit_lists[0];
  EXPECT_TRUE(list.full);
  EXPECT_TRUE(list.ended);
  EXPECT_THAT(list.hits,
              Contains(FakeCoordinator::Hit{Digest(Blocks::Series(1, 4, 30)), At(0), 30}));
  EXPECT_LT(list.hits.size(), 5u) << "the filter lets few others through";
}

// Each extent would meet itself first of all.
TEST_F(IndexUpdateTest, ExtentsDoNotHitTheirOwnHead) {
  volume_.AddExtent(At(0), "..abcdefgh");  // its head is at block 0: "..ab"
  coordinator_.heads = {Digest("..ab")};
  ASSERT_THAT(update_.StreamWindows(0), IsOk());
  EXPECT_THAT(coordinator_.hit_lists[0].hits,
              Not(Contains(Field(&FakeCoordinator::Hit::digest, Digest("..ab")))));
}

// …but others with the same content further behind.
TEST_F(IndexUpdateTest, ExtentsHitTheirOwnHeadFurtherBehind) {
  volume_.AddExtent(At(0), "abcdxxabcdyy");
  coordinator_.heads = {Digest("abcd")};
  ASSERT_THAT(update_.StreamWindows(0), IsOk());
  EXPECT_THAT(coordinator_.hit_lists[0].hits,
              ElementsAre(FakeCoordinator::Hit{Digest("abcd"), At(0), 6}));
}

// Files of one to three blocks have short heads, also within long extents.
TEST_F(IndexUpdateTest, ShortHeadsAreFoundInLongExtents) {
  volume_.AddExtent(At(0), "abcdefgh");
  coordinator_.heads = {Digest("c"), Digest("de"), Digest("fgh")};
  ASSERT_THAT(update_.StreamWindows(0), IsOk());
  const auto& hits = coordinator_.hit_lists[0].hits;
  EXPECT_THAT(hits, Contains(FakeCoordinator::Hit{Digest("c"), At(0), 2}));
  EXPECT_THAT(hits, Contains(FakeCoordinator::Hit{Digest("de"), At(0), 3}));
  EXPECT_THAT(hits, Contains(FakeCoordinator::Hit{Digest("fgh"), At(0), 5}));
}

TEST_F(IndexUpdateTest, OnlyWantedWindowLengthsAreStreamed) {
  volume_.AddExtent(At(0), "abcdefgh");
  coordinator_.heads = {Digest("c"), Digest("de"), Digest("efgh")};
  coordinator_.window_lengths = 0b0010;
  ASSERT_THAT(update_.StreamWindows(0), IsOk());
  EXPECT_THAT(Digests(coordinator_.hit_lists[0].hits), Contains(Digest("de")));
  EXPECT_THAT(Digests(coordinator_.hit_lists[0].hits), Not(Contains(Digest("c"))));
  EXPECT_THAT(Digests(coordinator_.hit_lists[0].hits), Not(Contains(Digest("efgh"))));
}

TEST_F(IndexUpdateTest, NewExtentsAloneAreStreamedAfterAnIncrementalScan) {
  volume_.AddExtent(At(0), "abcdefgh", {.generation = 50});
  volume_.AddExtent(At(10), "ijklm", {.generation = 60});
  ASSERT_THAT(update_.StreamWindows(50), IsOk());
  const FakeCoordinator::HitList& list = coordinator_.hit_lists[0];
  EXPECT_FALSE(list.full);
  EXPECT_THAT(list.hits, Each(Field(&FakeCoordinator::Hit::address, At(10))));
  // All windows of 1 to 4 blocks, but for the head itself: 5 + 4 + 3 + 1.
  EXPECT_THAT(list.hits, SizeIs(13));
  EXPECT_EQ(coordinator_.heads_fetched, 0) << "few windows are cheaper than the filter";
}

TEST_F(IndexUpdateTest, ManyNewBlocksAreFilteredFirst) {
  for (int i = 0; i < 3; ++i) {
    volume_.AddExtent(At(i * 30000), Blocks::Repeated(static_cast<uint64_t>(i) + 1, 30000),
                      {.generation = 60});
  }
  ASSERT_THAT(Scan(ScannedUpTo(50)), IsOk());
  ASSERT_THAT(update_.StreamWindows(50), IsOk());
  EXPECT_EQ(coordinator_.heads_fetched, 1);
}

// 100 GB of zeros, or of one repeated block, are no hits.
TEST_F(IndexUpdateTest, RepeatedBlocksAreNoHits) {
  volume_.AddExtent(At(0), Blocks::Zeros(1000), {.generation = 60});
  volume_.AddExtent(At(2000), Blocks::Repeated('z', 1000), {.generation = 60});
  ASSERT_THAT(update_.StreamWindows(50), IsOk());
  // Windows of one block only, of the block that is not zero.
  for (const auto& hit : coordinator_.hit_lists[0].hits) EXPECT_EQ(hit.digest, Digest("z"));
}

TEST_F(IndexUpdateTest, IncompleteExtentsHaveNoWindows) {
  volume_.AddExtent(At(0), "abcdefgh", {.generation = 60, .checksums = false});
  volume_.SetChecksums(At(0), "abcdef");
  ASSERT_THAT(update_.StreamWindows(50), IsOk());
  EXPECT_THAT(coordinator_.hit_lists[0].hits, IsEmpty());
}

// Ended, a full pass makes the index believe that no head is new any more.
TEST_F(IndexUpdateTest, PassThatBreaksOffIsNotEnded) {
  for (int i = 0; i < 10; ++i) volume_.AddExtent(At(10 * i), "abcdefgh", {.generation = 60});
  coordinator_.upload_rows_max = 20;
  EXPECT_THAT(update_.StreamWindows(50), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(coordinator_.hit_lists[0].ended);
  coordinator_.upload_rows_max.reset();
  stop_.Request(StopSignal::Reason::kTimeLimit);
  EXPECT_THAT(update_.StreamWindows(0), HasCode(absl::StatusCode::kCancelled));
  EXPECT_FALSE(coordinator_.hit_lists[1].ended);
}

// ---- Other block and checksum sizes

TEST(IndexUpdateSizesTest, LengthsAreInBlocksOfTheVolume) {
  for (const int32_t block_bytes : {4096, 16384, 65536}) {
    for (const int32_t checksum_bytes : {4, 8, 32}) {
      VolumeInfo info;
      info.block_bytes = block_bytes;
      info.checksum_bytes = checksum_bytes;
      info.checksum_kind = checksum_bytes == 4 ? kChecksumKindCrc32c : kChecksumKindCrc32c + 1;
      FakeVolume volume(info);
      FakeCoordinator coordinator;
      StopSignal stop;
      Progress progress;
      const uint64_t extent = volume.AddExtent("abcdefgh");
      volume.RepackChecksums(3);
      IndexUpdate update(volume, coordinator, stop, progress);
      ASSERT_THAT(update.Scan(coordinator.order, 200), IsOk());
      ASSERT_THAT(coordinator.scans[0].rows, SizeIs(1));
      const FakeCoordinator::Row& row = coordinator.scans[0].rows[0];
      EXPECT_EQ(row.address, extent);
      EXPECT_EQ(row.length_blocks, 8u);
      EXPECT_EQ(row.fingerprint->digest, ChecksumDigest(volume.Checksums("abcdefgh")));
      EXPECT_EQ(update.bytes_scanned(), 8 * block_bytes);
    }
  }
}

}  // namespace
}  // namespace onefold
