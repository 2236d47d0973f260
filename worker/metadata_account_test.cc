#include "worker/metadata_account.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kMiB = 1 << 20;

// An extent of one file, seen under `snapshots` snapshots that share the file's leaf.
Drop Shared(uint64_t inode, int64_t bytes, int64_t snapshots, uint64_t subvolume = 5,
            int64_t offset = 0) {
  Drop drop;
  drop.address = inode << 20;
  drop.disk_bytes = bytes;
  for (int64_t i = 0; i <= snapshots; ++i) {
    Move move;
    move.destination = {subvolume + 1000 * static_cast<uint64_t>(i), inode};
    move.destination_offset = offset;
    move.length = bytes;
    drop.moves.push_back(move);
  }
  drop.reference_count = snapshots + 1;
  drop.leaf_count = 1;
  return drop;
}

// Without snapshots a move changes a leaf and adds none: even one block pays.
TEST(MetadataAccountTest, UnsharedReferencesCostNothing) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(300, 4096, 0), Shared(90000, 4096, 0)}),
              ElementsAre(true, true));
}

// Measured: 5,000 pairs of 8 KiB under 20 snapshots freed 41 MB and grew metadata by 45 MB, twice.
TEST(MetadataAccountTest, SmallFilesUnderManySnapshotsDoNotPay) {
  MetadataAccount account(16384, 2);
  std::vector<Drop> drops;
  for (uint64_t inode = 1000; inode < 6000; ++inode) drops.push_back(Shared(inode, 8192, 20));
  EXPECT_THAT(account.Decide(drops), Each(false));
}

TEST(MetadataAccountTest, BiggerFilesUnderManySnapshotsPay) {
  MetadataAccount account(16384, 2);
  std::vector<Drop> drops;
  for (uint64_t inode = 1000; inode < 2000; ++inode) drops.push_back(Shared(inode, 128 << 10, 20));
  EXPECT_THAT(account.Decide(drops), Each(true));
}

// One file alone would not pay for its leaf; thirty neighbours do together.
TEST(MetadataAccountTest, NeighboursShareTheCostOfTheirLeaf) {
  std::vector<Drop> drops;
  for (uint64_t inode = 3200; inode < 3230; ++inode) drops.push_back(Shared(inode, 16384, 5));
  MetadataAccount alone(16384, 2);
  EXPECT_THAT(alone.Decide({drops[0]}), ElementsAre(false));
  MetadataAccount together(16384, 2);
  EXPECT_THAT(together.Decide(drops), Each(true));
}

TEST(MetadataAccountTest, CopiesOfMetadataCount) {
  const std::vector<Drop> drops = {Shared(3200, 300 << 10, 10)};  // a leaf each: 200 KiB, DUP 400
  EXPECT_THAT(MetadataAccount(16384, 1).Decide(drops), ElementsAre(true));
  EXPECT_THAT(MetadataAccount(16384, 2).Decide(drops), ElementsAre(false));
}

TEST(MetadataAccountTest, LargerNodesCostMore) {
  const std::vector<Drop> drops = {Shared(3200, 300 << 10, 10)};
  EXPECT_THAT(MetadataAccount(4096, 1).Decide(drops), ElementsAre(true));
  EXPECT_THAT(MetadataAccount(65536, 1).Decide(drops), ElementsAre(false));
}

// A leaf is split off once: what was paid in an earlier batch serves the next one.
TEST(MetadataAccountTest, LeafThatWasPaidForIsFree) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, 10 * kMiB, 5)}), ElementsAre(true));
  EXPECT_THAT(account.Decide({Shared(3201, 4096, 5)}), ElementsAre(true));
}

TEST(MetadataAccountTest, LeafThatWasNotPaidForStaysDear) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, 4096, 5)}), ElementsAre(false));
  EXPECT_THAT(account.Decide({Shared(3201, 4096, 5)}), ElementsAre(false));
}

// A file written after the snapshots has a leaf of its own; its move paid for nobody.
TEST(MetadataAccountTest, UnsharedMovePaysForNoLeaf) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, 4096, 0)}), ElementsAre(true));
  EXPECT_THAT(account.Decide({Shared(3201, 4096, 20)}), ElementsAre(false));
}

// What is dropped anyway must not make a loss look like a gain.
TEST(MetadataAccountTest, GainOfUnsharedExtentsDoesNotPayForSharedOnes) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, 10 * kMiB, 0), Shared(3201, 4096, 20)}),
              ElementsAre(true, false));
}

// Inode numbers repeat in every subvolume: another one's leaf is another leaf.
TEST(MetadataAccountTest, LeavesOfOtherSubvolumesAreOthers) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, 10 * kMiB, 5, 300)}), ElementsAre(true));
  EXPECT_THAT(account.Decide({Shared(3200, 4096, 5, 400)}), ElementsAre(false));
}

// The parts of one big file that are far apart lie in different leaves.
TEST(MetadataAccountTest, DistantPartsOfAFileAreDifferentLeaves) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, kMiB, 5)}), ElementsAre(true));
  EXPECT_THAT(account.Decide({Shared(3200, 4096, 5, 5, 1000 * 4096 * 140)}), ElementsAre(false));
}

// A leaf split off for one snapshot is not split off for twenty.
TEST(MetadataAccountTest, MoreSnapshotsThanWerePaidForCostMore) {
  MetadataAccount account(16384, 2);
  EXPECT_THAT(account.Decide({Shared(3200, 64 << 10, 1)}), ElementsAre(true));
  EXPECT_THAT(account.Decide({Shared(3201, 4096, 100)}), ElementsAre(false));
}

TEST(MetadataAccountTest, DropsWithoutMovesAreLetThrough) {
  MetadataAccount account(16384, 2);
  Drop drop;
  drop.disk_bytes = 4096;
  drop.reference_count = 9;
  EXPECT_THAT(account.Decide({drop}), ElementsAre(true));
  EXPECT_THAT(account.Decide({}), ElementsAre());
}

}  // namespace
}  // namespace onefold
