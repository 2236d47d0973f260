// Blocks without a copy that are written anew, so that the rest of their extent can be freed: what
// is planned, what is done, and what becomes of it when something is in the way.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/plan_run_fixture.h"
#include "worker/testing/settle_inside_fixture.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kBlock = 4096;
constexpr RelocationLimit kTwice = {.gain_min = 2};

TEST(RelocationLimitTest, BoundsWhatIsWrittenByWhatIsFreedNet) {
  EXPECT_EQ(RelocationLimit{}.WrittenBytesMax(1 << 30), 0);
  EXPECT_FALSE(RelocationLimit{}.allowed());
  EXPECT_EQ(kTwice.WrittenBytesMax(3 * kBlock), kBlock);  // writes one to free two
  EXPECT_LT(kTwice.WrittenBytesMax(3 * kBlock - 1), kBlock);
}

// ---- What is planned

class RelocationPlanTest : public SettleInsideTest {
 protected:
  Settled Settle(const Group& group) {
    ExtentViewer viewer = on_.NewViewer();
    ChecksumReaders checksums(volume());
    auto settled = SettleInside(group, viewer, checksums, volume().info(), &runs_, kTwice);
    EXPECT_THAT(settled, IsOk());
    return settled.ok() ? *std::move(settled) : Settled{};
  }
  static std::vector<Move> Relocated(const Settled& settled) {
    std::vector<Move> moves;
    for (const Drop& drop : settled.drops) {
      for (const Move& move : drop.moves) {
        if (move.relocated) moves.push_back(move);
      }
    }
    return moves;
  }

  InsideRuns runs_;
};

TEST_F(RelocationPlanTest, TailInsideAnImageIsWrittenAnew) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const InodeId file = FileOf({Blocks::Series(1, 30, 10) + "t"});
  volume().SetSize(file, 30 * kBlock + 1000);
  const Settled settled = Settle(on_.InsideGroup(extents_[0], image, 10));
  ASSERT_THAT(Dropped(settled), ElementsAre(extents_[0]));
  EXPECT_EQ(settled.drops[0].written_bytes, kBlock);
  EXPECT_EQ(settled.drops[0].held_by, Holder::kTail);
  ASSERT_EQ(Relocated(settled).size(), 1u);
  EXPECT_EQ(Relocated(settled)[0].destination, file);
  EXPECT_EQ(Relocated(settled)[0].destination_offset, 30 * kBlock);
  EXPECT_EQ(Relocated(settled)[0].length, 1000);
  ExpectSound(settled);
}

// What costs nothing is preferred, at whatever place it is found.
TEST_F(RelocationPlanTest, WholeMatchElsewhereGoesBeforeWriting) {
  const uint64_t part = ExtentOf(Blocks::Series(1, 30) + Blocks::Series(3, 40));
  const uint64_t whole = ExtentOf(Blocks::Series(1, 31));
  const uint64_t query = ExtentOf(Blocks::Series(1, 31));
  Group group = on_.InsideGroup(query, part, 0);
  group.members.push_back(on_.Member(whole, false, 0));
  const Settled settled = Settle(group);
  ASSERT_EQ(settled.drops.size(), 1u);
  EXPECT_EQ(settled.drops[0].written_bytes, 0);
  EXPECT_THAT(Relocated(settled), IsEmpty());
}

TEST_F(RelocationPlanTest, ChangedBlockInTheMiddleIsWrittenAnew) {
  // In the middle the run ends; what is behind it is a remainder of a third.
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const uint64_t query = ExtentOf(Blocks::Series(1, 40) + Blocks::Series(2, 20));
  const Settled settled = Settle(on_.InsideGroup(query, image, 0));
  ASSERT_THAT(Dropped(settled), ElementsAre(query));
  EXPECT_EQ(settled.drops[0].written_bytes, 20 * kBlock);
  EXPECT_EQ(settled.drops[0].held_by, Holder::kUnmatchedBlocks);
  ExpectSound(settled);
}

TEST_F(RelocationPlanTest, WhatDoesNotPayIsPinned) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const uint64_t query = ExtentOf(Blocks::Series(1, 39) + Blocks::Series(2, 20));
  const Settled settled = Settle(on_.InsideGroup(query, image, 0));
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Pinned(Holder::kUnmatchedBlocks));
}

// Snapshots hold the tail as well: it is written once and shared by all.
TEST_F(RelocationPlanTest, OneCopyServesAllReferences) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const InodeId file = FileOf({Blocks::Series(1, 30, 10) + "t"});
  volume().SetSize(file, 30 * kBlock + 1000);
  volume().AddSubvolume(300, {.name = "snap", .snapshot_of = kFsTree});
  const Settled settled = Settle(on_.InsideGroup(extents_[0], image, 10));
  ASSERT_THAT(Dropped(settled), ElementsAre(extents_[0]));
  EXPECT_EQ(settled.drops[0].written_bytes, kBlock);
  const std::vector<Move> moves = Relocated(settled);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].source, moves[1].source);
  EXPECT_NE(moves[0].destination, moves[1].destination);
}

// ---- What is done

class RelocationTest : public PlanRunTest {
 protected:
  RelocationTest() {
    options_.relocation = kTwice;
    options_.scratch_directory = InodeId{.subvolume = kFsTree, .inode = kTopDirectory};
  }

  // A file of 30 blocks and a bit that lies in an image but for its end; offered. The file's
  // extent.
  uint64_t OfferTail() {
    image_ = FileOf(Blocks::Series(1, 100));
    const uint64_t query = FileOf(Blocks::Series(1, 30, 10) + "t");
    file_ = last_file_;
    volume().SetSize(file_, 30 * kBlock + 1000);
    Offer(on_.InsideGroup(query, image_, 10), PlanKind::kInside);
    return query;
  }
  const Blocks contents_ = Blocks::Series(1, 30, 10) + "t";

  uint64_t image_ = 0;
  InodeId file_;
};

TEST_F(RelocationTest, TailIsWrittenAndTheRestFreed) {
  const uint64_t query = OfferTail();
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(query), Just(Outcome::kFreed));
  EXPECT_FALSE(volume().ExtentExists(query));
  EXPECT_EQ(totals().bytes_freed, 31 * kBlock);
  EXPECT_EQ(totals().bytes_written, kBlock);
  EXPECT_EQ(volume().DataBytes(), 101 * kBlock);
  EXPECT_EQ(volume().Contents(file_), contents_);
  EXPECT_EQ(volume().SizeOf(file_), 30 * kBlock + 1000);
  EXPECT_EQ(volume().Files().size(), 2u) << "a scratch file is left";
  EXPECT_EQ(volume().open_files(), 0);
}

TEST_F(RelocationTest, SeveralRemaindersAndATailOfOneExtent) {
  const uint64_t image = FileOf(Blocks::Series(1, 100));
  const uint64_t query = FileOf(Blocks::Series(1, 20) + "x" + Blocks::Series(1, 20, 21) + "t");
  const InodeId file = last_file_;
  volume().SetSize(file, 41 * kBlock + 1);
  // The run reaches from the front to the changed block; the rest is more than may be written.
  Offer(on_.InsideGroup(query, image, 0), PlanKind::kInside);
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(query), Pinned(Holder::kUnmatchedBlocks));
  EXPECT_EQ(totals().bytes_written, 0);
}

// --relocate=never: nothing is written, but what it would free is told.
TEST_F(RelocationTest, WithoutADirectoryItIsCountedOnly) {
  options_.scratch_directory.reset();
  const uint64_t query = OfferTail();
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(query), Pinned(Holder::kTail));
  EXPECT_EQ(totals().bytes_relocatable, 30 * kBlock);
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
}

TEST_F(RelocationTest, DryRunCountsNet) {
  options_.dry_run = true;
  OfferTail();
  ASSERT_THAT(Work(PlanKind::kInside), IsOk());
  EXPECT_EQ(totals().bytes_freeable, 30 * kBlock);
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
}

// No room for a block: what needs none goes on, and the next run tries again.
TEST_F(RelocationTest, NoRoomEndsNothingElse) {
  const uint64_t query = OfferTail();
  const auto [keep, drop] = OfferPair();
  volume().FailScratch(absl::OkStatus(), absl::ResourceExhaustedError("full"));
  ASSERT_THAT(Work(PlanKind::kInside), IsOk());
  WorkAndVerify();
  EXPECT_THAT(ResultOf(query), Just(Outcome::kRetry));
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kFreed));
  EXPECT_FALSE(run().ended_early());
  EXPECT_EQ(totals().bytes_written, 0);
  EXPECT_TRUE(volume().ExtentExists(query));
  EXPECT_EQ(volume().Contents(file_), contents_);
}

TEST_F(RelocationTest, LittleRoomMeansNoWriting) {
  SpaceInfo space = *volume().Space();
  space.data_total = space.data_used + (1 << 20);
  space.unallocated = 0;
  space.metadata_total = int64_t{1} << 30;
  volume().SetSpace(space);
  const uint64_t query = OfferTail();
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(query), Pinned(Holder::kTail));
  EXPECT_EQ(totals().bytes_written, 0);
}

// Written to between reading and sharing: the kernel sees it, nothing of the file is lost.
TEST_F(RelocationTest, TailThatChangesMeanwhileStays) {
  const uint64_t query = OfferTail();
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall& call, size_t) {
    if (call.length % kBlock == 0) return;
    volume().Overwrite(file_, 30, "u");
    volume().SetSize(file_, 30 * kBlock + 1000);
  });
  WorkAndVerify(PlanKind::kInside);
  EXPECT_EQ(volume().Contents(file_), Blocks::Series(1, 30, 10) + "u");
  EXPECT_NE(ResultOf(query).first, Outcome::kFreed);
}

// What cannot be relocated is left as it is: the other moves would free nothing.
TEST_F(RelocationTest, NothingElseIsMovedWhenRelocationFails) {
  const uint64_t query = OfferTail();
  volume().AnswerAlways(file_, {.status = -EPERM});
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(query), Pinned(Holder::kImmutable));
  EXPECT_EQ(totals().bytes_written, 0);
  EXPECT_EQ(volume().dedupe_calls().size(), 1u);
  EXPECT_EQ(volume().ExtentsOf(file_), std::vector<uint64_t>{query});
}

TEST_F(RelocationTest, EveryReferenceGetsTheSameCopy) {
  image_ = FileOf(Blocks::Series(1, 100));
  const uint64_t query = FileOf(Blocks::Series(1, 30, 10) + "t");
  file_ = last_file_;
  volume().SetSize(file_, 30 * kBlock + 1000);
  volume().AddSubvolume(300, {.name = "snap", .read_only = true, .snapshot_of = kFsTree});
  Offer(on_.InsideGroup(query, image_, 10), PlanKind::kInside);
  options_.destinations_max = 1;
  WorkAndVerify(PlanKind::kInside);
  EXPECT_FALSE(volume().ExtentExists(query));
  EXPECT_EQ(totals().bytes_written, kBlock);
  EXPECT_EQ(volume().DataBytes(), 101 * kBlock);
  EXPECT_EQ(volume().Contents({.subvolume = 300, .inode = file_.inode}), contents_);
}

}  // namespace
}  // namespace onefold
