#include <set>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/settle.h"
#include "worker/testing/settle_inside_fixture.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr int64_t kBlock = 4096;

// ---- Files that share a part already

// Every other block of the file was shared before: what is left of its own extent is found across
// them.
TEST_F(SettleInsideTest, PiecesBetweenSharedBlocksAreDropped) {
  FileOf({Blocks::Series(1, 12)});
  const uint64_t whole = extents_[0];
  const InodeId mixed = FileOf({Blocks::Series(1, 12)});
  const uint64_t rest = extents_[0];
  for (int64_t block = 1; block < 12; block += 2) {
    volume().MapExtent(mixed, whole, {.at = block, .from = block, .blocks = 1});
  }
  const Settled settled = Settle(rest, whole, 0);
  ASSERT_THAT(Dropped(settled), ElementsAre(rest));
  EXPECT_THAT(settled.drops[0].moves, SizeIs(6));
  ExpectSound(settled);
  CarryOut(settled);
}

// Nothing is pinned where all is shared.
TEST_F(SettleInsideTest, FilesThatShareAllAreLeftAlone) {
  FileOf({Blocks::Series(1, 12)});
  const uint64_t whole = extents_[0];
  const InodeId twin = volume().AddFile("twin");
  volume().MapExtent(twin, whole, {.at = -1, .blocks = 12});
  const Settled settled = Settle(whole, whole, 0);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, whole), Just(Outcome::kNoPartner));
}

// A reflink of the query that was cut or partly written anew comes first; the whole file tells
// more. The same on the side of the place.
TEST_F(SettleInsideTest, TheFileThatHasMostOfTheExtentIsCompared) {
  const InodeId cut = volume().AddFile("cut");
  const InodeId part = volume().AddFile("part");
  FileOf({Blocks::Series(1, 20)});
  const uint64_t film = extents_[0];
  volume().MapExtent(cut, film, {.at = 0, .from = 0, .blocks = 8});
  FileOf({Blocks::Series(2, 3) + Blocks::Series(1, 20) + Blocks::Series(3, 3)});
  const uint64_t image = extents_[0];
  volume().MapExtent(part, image, {.at = 0, .from = 3, .blocks = 5});
  const Settled settled = Settle(film, image, 3);
  EXPECT_THAT(Dropped(settled), ElementsAre(film));
  ExpectSound(settled);
  CarryOut(settled);
}

// Files that share other parts of the place are no places of the query, however many there are.
TEST_F(SettleInsideTest, ReferencesToOtherPartsOfThePlaceAreNotTried) {
  std::vector<InodeId> others;
  for (int i = 0; i < 10; ++i) others.push_back(volume().AddFile("small"));
  FileOf({Blocks::Series(1, 30)});
  const uint64_t image = extents_[0];
  for (const InodeId& other : others) volume().MapExtent(other, image, {.from = 0, .blocks = 2});
  FileOf({Blocks::Series(1, 4, 20)});
  EXPECT_THAT(Dropped(Settle(extents_[0], image, 20)), ElementsAre(extents_[0]));
}

// ---- A file inside something bigger

TEST_F(SettleInsideTest, FileInsideAnImageIsDropped) {
  const InodeId image_file = FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const InodeId file = FileOf({Blocks::Series(1, 10, 40)});
  const Settled settled = Settle(extents_[0], image, 40);
  ASSERT_THAT(Dropped(settled), ElementsAre(extents_[0]));
  const Drop& drop = settled.drops[0];
  EXPECT_EQ(drop.kind, PlanKind::kInside);
  EXPECT_EQ(drop.disk_bytes, 10 * kBlock);
  ASSERT_THAT(drop.moves, SizeIs(1));
  EXPECT_EQ(drop.moves[0].source, image_file);
  EXPECT_EQ(drop.moves[0].source_offset, 40 * kBlock);
  EXPECT_EQ(drop.moves[0].destination, file);
  EXPECT_EQ(drop.moves[0].destination_offset, 0);
  EXPECT_THAT(settled.sources, ElementsAre(image));
  ExpectSound(settled);
  CarryOut(settled);
}

// The head is not the first window, and the place begins behind the query's block 0.
TEST_F(SettleInsideTest, QueryMayBeginBeforeThePlaceDoes) {
  FileOf({Blocks::Series(1, 20), Blocks::Series(1, 40, 20)});
  const uint64_t place = extents_[1];
  FileOf({Blocks::Series(1, 30, 15)});
  const Settled settled = Settle(extents_[0], place, -5);
  EXPECT_THAT(Dropped(settled), ElementsAre(extents_[0]));
  ExpectSound(settled);
  CarryOut(settled);
}

// An image that grew has hundreds of extents: a file in it lies in several.
TEST_F(SettleInsideTest, FileOverSeveralExtentsOfTheImageIsDropped) {
  std::vector<Blocks> parts;
  for (int64_t at = 0; at < 60; at += 6) parts.push_back(Blocks::Series(1, 6, at));
  FileOf(parts);
  const uint64_t place = extents_[3];
  const std::vector<uint64_t> image = extents_;
  FileOf({Blocks::Series(1, 20, 20)});
  const Settled settled = Settle(extents_[0], place, 2);
  EXPECT_THAT(Dropped(settled), UnorderedElementsAre(extents_[0]));
  EXPECT_THAT(settled.sources, ElementsAre(image[3], image[4], image[5], image[6]));
  ExpectSound(settled);
  CarryOut(settled);
}

// One hit is enough for a file of many extents: the match goes on in file order, both ways.
TEST_F(SettleInsideTest, NeighboursOfTheQueryAreDroppedWithIt) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  FileOf({Blocks::Series(1, 5, 10), Blocks::Series(1, 7, 15), Blocks::Series(1, 9, 22),
          Blocks::Series(1, 3, 31)});
  const Settled settled = Settle(extents_[2], image, 22);
  EXPECT_THAT(Dropped(settled),
              UnorderedElementsAre(extents_[0], extents_[1], extents_[2], extents_[3]));
  ExpectSound(settled);
  CarryOut(settled);
}

TEST_F(SettleInsideTest, NeighboursThatDifferAreLeft) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  FileOf({Blocks::Series(2, 5), Blocks::Series(1, 7, 15), Blocks::Series(3, 9)});
  const Settled settled = Settle(extents_[1], image, 15);
  EXPECT_THAT(Dropped(settled), ElementsAre(extents_[1]));
  ExpectSound(settled);
}

// An older, shorter version of a log.
TEST_F(SettleInsideTest, OlderVersionOfALogIsDropped) {
  FileOf({Blocks::Series(1, 10), Blocks::Series(1, 6, 10)});
  const uint64_t log = extents_[0];
  const uint64_t old = ExtentOf(Blocks::Series(1, 13));
  const Settled settled = Settle(old, log, 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(old));
  ExpectSound(settled);
  CarryOut(settled);
}

// Equal files cut into other extents: mixing the sides would leave pieces of both.
TEST_F(SettleInsideTest, EqualFilesCutDifferentlyLoseOneSide) {
  const InodeId a = FileOf({Blocks::Series(1, 48), Blocks::Series(1, 80, 48)});
  const std::vector<uint64_t> of_a = extents_;
  const InodeId b = FileOf({Blocks::Series(1, 64), Blocks::Series(1, 64, 64)});
  const std::vector<uint64_t> of_b = extents_;
  const Settled settled = Settle(of_a[0], of_b[0], 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(of_a[0], of_a[1]));
  ExpectSound(settled);
  CarryOut(settled);
  EXPECT_THAT(volume().ExtentsOf(a), ElementsAre(of_b[0], of_b[1]));
  EXPECT_THAT(volume().ExtentsOf(b), ElementsAre(of_b[0], of_b[1]));
  EXPECT_EQ(volume().DataBytes(), 128 * kBlock);
}

// ---- Which side goes

// The side that frees more.
TEST_F(SettleInsideTest, SideThatFreesMoreGoes) {
  FileOf({Blocks::Series(1, 30), Blocks::Series(2, 5)});
  const uint64_t place = extents_[0];
  FileOf({Blocks::Series(1, 10), Blocks::Series(1, 40, 10)});
  // The query's second extent reaches beyond the match: only its first one could go.
  const Settled settled = Settle(extents_[0], place, 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(place));
  EXPECT_THAT(ResultOf(settled, extents_[0]), Just(Outcome::kKept));
  ExpectSound(settled);
  CarryOut(settled);
}

TEST_F(SettleInsideTest, SideWithFewerReferencesGoes) {
  FileOf({Blocks::Series(1, 4), Blocks::Series(1, 4, 4)});
  const std::vector<uint64_t> popular = extents_;
  for (int i = 0; i < 3; ++i) {
    const InodeId file = volume().AddFile("r");
    volume().MapExtent(file, popular[0], {.at = -1});
    volume().MapExtent(file, popular[1], {.at = -1});
  }
  FileOf({Blocks::Series(1, 5), Blocks::Series(1, 3, 5)});
  EXPECT_THAT(Dropped(Settle(popular[0], extents_[0], 0)), ElementsAre(extents_[0], extents_[1]));
  EXPECT_THAT(Dropped(Settle(extents_[0], popular[0], 0)), ElementsAre(extents_[0], extents_[1]));
}

// The query is held from outside, but the place is not.
TEST_F(SettleInsideTest, HeldQueryMayStillBeWhatIsKept) {
  FileOf({Blocks::Series(1, 10), Blocks::Series(1, 10, 10)});
  const std::vector<uint64_t> places = extents_;
  FileOf({Blocks::Series(1, 20)}, {.flags = InodeItem::kImmutable});
  const Settled settled = Settle(extents_[0], places[0], 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(places[0], places[1]));
  EXPECT_THAT(ResultOf(settled, extents_[0]), Just(Outcome::kKept));
  ExpectSound(settled);
}

TEST_F(SettleInsideTest, HeldQueryInsideSomethingBiggerIsPinned) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  FileOf({Blocks::Series(1, 10, 40)}, {.flags = InodeItem::kImmutable});
  const Settled settled = Settle(extents_[0], image, 40);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, extents_[0]), Pinned(Holder::kImmutable));
}

TEST_F(SettleInsideTest, QueryHeldByAnExcludedFileIsPinnedAndNoted) {
  on_.Exclude({"*.skip"});
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const uint64_t query = ExtentOf(Blocks::Series(1, 10, 40));
  volume().MapExtent(volume().AddFile("x.skip"), query, {});
  const Settled settled = Settle(query, image, 40);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Pinned(Holder::kExcluded));
  EXPECT_THAT(settled.excluded_bytes, ElementsAre(Pair(0, 10 * kBlock)));
}

// ---- One file against itself

TEST_F(SettleInsideTest, RepeatOfAFilesOwnPartIsDropped) {
  FileOf({Blocks::Series(1, 64), Blocks::Series(1, 32)});
  const Settled settled = Settle(extents_[1], extents_[0], 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(extents_[1]));
  ExpectSound(settled);
  CarryOut(settled);
}

// First equal extents are folded, as in a run; then what two of them at once are equal to.
TEST_F(SettleInsideTest, EightRepeatsInOneFileBecomeOne) {
  const Blocks unit = Blocks::Series(1, 32);
  const InodeId file = FileOf({2 * unit, unit, unit, unit, unit, unit, unit});
  const std::vector<uint64_t> extents = extents_;
  ExtentViewer viewer = on_.NewViewer();
  const auto whole = SettleWhole(on_.GroupOf({extents.begin() + 1, extents.end()}), viewer, kBlock);
  ASSERT_THAT(whole, IsOk());
  CarryOut(*whole);
  const Settled settled = Settle(extents[1], extents[0], 0);
  EXPECT_THAT(settled.drops, SizeIs(1));
  ExpectSound(settled);
  CarryOut(settled);
  EXPECT_EQ(volume().DataBytes(), 32 * kBlock);
  EXPECT_EQ(volume().Contents(file), 8 * unit);
}

// A period shorter than the match: the kernel answers EINVAL to ranges that overlap.
TEST_F(SettleInsideTest, OverlappingSelfMatchIsCutToThePeriod) {
  for (const int64_t period : {1, 2, 3, 5, 8}) {
    const Blocks unit = Blocks::Series(static_cast<uint32_t>(10 + period), period);
    Blocks all;
    for (int i = 0; i < 40; ++i) all = all + unit;
    const InodeId file = FileOf({all.Cut(0, 20), all.Cut(20, 10), all.Cut(30, 10)});
    for (const auto& [query, place, delta] : std::vector<std::tuple<int, int, int64_t>>{
             {1, 0, 20 % period}, {1, 0, 20 - period}, {2, 1, 10 % period}, {0, 0, period}}) {
      const Settled settled = Settle(extents_[query], extents_[place], delta);
      ExpectSound(settled);
    }
    EXPECT_EQ(volume().Contents(file), all.Cut(0, 40));
  }
}

// A file that refers twice to one extent matches itself everywhere, and has nothing to free.
TEST_F(SettleInsideTest, WhatIsSharedAlreadyIsNoMatch) {
  const InodeId a = FileOf({Blocks::Series(1, 20)});
  const uint64_t extent = extents_[0];
  volume().MapExtent(a, extent, {.at = 20});
  const InodeId b = volume().AddFile("r");
  volume().MapExtent(b, extent, {});
  EXPECT_THAT(Settle(extent, extent, 0).drops, IsEmpty());
}

// ---- Dead parts

// Blocks that nobody refers to need no partner.
TEST_F(SettleInsideTest, DeadPartsOfTheQueryNeedNoPartner) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const InodeId file = FileOf({Blocks::Series(2, 4) + Blocks::Series(1, 10, 40)});
  const uint64_t query = extents_[0];
  volume().Overwrite(file, 0, Blocks::Series(3, 4));
  const Settled settled = Settle(query, image, 36);
  EXPECT_THAT(Dropped(settled), ElementsAre(query));
  ASSERT_THAT(settled.drops[0].moves, SizeIs(1));
  EXPECT_EQ(settled.drops[0].moves[0].length, 10 * kBlock);
  ExpectSound(settled);
}

// Data that lies on the disk but in no file cannot be read from.
TEST_F(SettleInsideTest, DeadPartsOfThePlaceAreNoSource) {
  const InodeId image_file = FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  volume().Overwrite(image_file, 45, Blocks::Series(2, 2));
  const uint64_t query = ExtentOf(Blocks::Series(1, 10, 40));
  const Settled settled = Settle(query, image, 40);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Pinned(Holder::kUnmatchedBlocks));
}

// Half of the file matches: sharing it would free nothing.
TEST_F(SettleInsideTest, PartialMatchIsPinned) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const uint64_t query = ExtentOf(Blocks::Series(1, 8, 40) + Blocks::Series(2, 8));
  const Settled settled = Settle(query, image, 40);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Pinned(Holder::kUnmatchedBlocks));
}

// ---- Tails

// The image goes on where the file ends: the kernel would leave the tail out and say it did it.
TEST_F(SettleInsideTest, TailInsideAnImageIsPinned) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const InodeId file = FileOf({Blocks::Series(1, 31, 10)});
  volume().SetSize(file, 30 * kBlock + 1000);
  const Settled settled = Settle(extents_[0], image, 10);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, extents_[0]), Pinned(Holder::kTail));
}

TEST_F(SettleInsideTest, TailThatDiffersIsPinnedByTheTail) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const InodeId file = FileOf({Blocks::Series(1, 30, 10) + "t"});
  volume().SetSize(file, 30 * kBlock + 1000);
  const Settled settled = Settle(extents_[0], image, 10);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, extents_[0]), Pinned(Holder::kTail));
}

TEST_F(SettleInsideTest, FilesThatEndAlikeAreFoldedWithTheirTail) {
  const InodeId a = FileOf({Blocks::Series(1, 6), Blocks::Series(1, 5, 6)});
  volume().SetSize(a, 11 * kBlock - 7);
  const uint64_t place = extents_[0];
  const InodeId b = FileOf({Blocks::Series(1, 4), Blocks::Series(1, 7, 4)});
  volume().SetSize(b, 11 * kBlock - 7);
  const Settled settled = Settle(extents_[0], place, 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(extents_[0], extents_[1]));
  ExpectSound(settled);
  CarryOut(settled);
}

// ---- No match after all

// A head is four blocks: what comes behind may be anything.
TEST_F(SettleInsideTest, FalseHitHasNoPartner) {
  const uint64_t place = ExtentOf(Blocks::Series(1, 20));
  const uint64_t query = ExtentOf(Blocks::Series(2, 20));
  const Settled settled = Settle(query, place, 3);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Just(Outcome::kNoPartner));
}

TEST_F(SettleInsideTest, GoneQueryAndGonePlaceAreReported) {
  const uint64_t place = ExtentOf(Blocks::Series(1, 20));
  const InodeId file = FileOf({Blocks::Series(1, 20)});
  const uint64_t query = extents_[0];
  const Group group = on_.InsideGroup(query, place, 0);
  const Group reverse = on_.InsideGroup(place, query, 0);
  volume().Remove(file);
  EXPECT_THAT(ResultOf(Settle(group), query), Just(Outcome::kGone));
  const Settled settled = Settle(reverse);
  EXPECT_THAT(ResultOf(settled, query), Just(Outcome::kGone));
  EXPECT_THAT(ResultOf(settled, place), Just(Outcome::kNoPartner));
}

// The first place may be gone, false or held; the next one counts.
TEST_F(SettleInsideTest, PlacesAreTriedOneAfterTheOther) {
  const InodeId removed = FileOf({Blocks::Series(1, 50)});
  const uint64_t gone = extents_[0];
  const uint64_t other = ExtentOf(Blocks::Series(2, 50));
  const uint64_t partial = ExtentOf(Blocks::Series(1, 25) + Blocks::Series(2, 25));
  const uint64_t good = ExtentOf(Blocks::Series(1, 50));
  const uint64_t query = ExtentOf(Blocks::Series(1, 10, 20));
  Group group = on_.GroupOf({query});
  for (const uint64_t place : {gone, other, partial, good}) {
    group.members.push_back(on_.Member(place, false, 20));
  }
  volume().Remove(removed);
  const Settled settled = Settle(group);
  EXPECT_THAT(Dropped(settled), ElementsAre(query));
  EXPECT_EQ(settled.drops[0].partner.address, good);
  EXPECT_THAT(settled.sources, ElementsAre(good));
}

// Checksums of compressed bytes say nothing about blocks of files.
TEST_F(SettleInsideTest, CompressedExtentsAreNoPartners) {
  const InodeId file = volume().AddFile("z");
  const uint64_t compressed =
      volume().AppendCompressed(file, Blocks::Series(5, 32), Blocks::Series(1, 20), 3);
  const uint64_t plain = ExtentOf(Blocks::Series(1, 20));
  EXPECT_THAT(ResultOf(Settle(plain, compressed, 0), plain), Just(Outcome::kNoPartner));
  EXPECT_THAT(ResultOf(Settle(compressed, plain, 0), compressed), Just(Outcome::kNoPartner));
}

// Compressed, preallocated or missing parts end a run; what was matched before them counts.
TEST_F(SettleInsideTest, RunEndsAtWhatCannotBeCompared) {
  FileOf({Blocks::Series(1, 40)});
  const uint64_t image = extents_[0];
  for (int kind = 0; kind < 4; ++kind) {
    const InodeId file = volume().AddFile("f");
    const uint64_t first = volume().Append(file, Blocks::Series(1, 10));
    switch (kind) {
      case 0:
        volume().AppendCompressed(file, Blocks::Series(1, 10, 10), Blocks::Series(1, 10, 10), 3);
        break;
      case 1: volume().AppendPreallocated(file, 10); break;
      case 2: volume().AppendHole(file, 10); break;
      case 3: volume().EraseChecksums(volume().Append(file, Blocks::Series(1, 10, 10)), 10); break;
    }
    volume().Append(file, Blocks::Series(1, 10, 20));
    const Settled settled = Settle(first, image, 0);
    EXPECT_THAT(Dropped(settled), ElementsAre(first)) << kind;
    ExpectSound(settled);
  }
}

TEST_F(SettleInsideTest, ExtentsWithoutChecksumsMatchNothing) {
  const uint64_t place = ExtentOf(Blocks::Series(1, 20));
  const uint64_t query = ExtentOf(Blocks::Series(1, 20));
  volume().EraseChecksums(query, 20);
  EXPECT_THAT(Settle(query, place, 0).drops, IsEmpty());
  const uint64_t other = ExtentOf(Blocks::Series(1, 20));
  volume().EraseChecksums(place + 3 * kBlock, 1);
  EXPECT_THAT(Settle(other, place, 0).drops, IsEmpty());
}

// Both absent: two ranges of zeros in memory are not two equal ranges on disk.
TEST_F(SettleInsideTest, TwoExtentsWithoutChecksumsAreNotEqual) {
  const uint64_t place = ExtentOf(Blocks::Series(1, 20));
  const uint64_t query = ExtentOf(Blocks::Series(2, 20));
  volume().EraseChecksums(query, 20);
  volume().EraseChecksums(place, 20);
  const Settled settled = Settle(query, place, 0);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Just(Outcome::kNoPartner));
}

// ---- Scope

TEST_F(SettleInsideTest, PlacesOutsideAreNotUsed) {
  const uint64_t in = volume().AddDirectory("in");
  on_.roots = {{.path = "/mnt/in", .subvolume_id = kFsTree, .inode = in}};
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  FileOf({Blocks::Series(1, 10, 40)}, {.parent = in});
  const Settled settled = Settle(extents_[0], image, 40);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, extents_[0]), Just(Outcome::kOutOfScope));
}

TEST_F(SettleInsideTest, QueriesOutsideAreLeftAlone) {
  const uint64_t in = volume().AddDirectory("in");
  on_.roots = {{.path = "/mnt/in", .subvolume_id = kFsTree, .inode = in}};
  FileOf({Blocks::Series(1, 100)}, {.parent = in});
  const uint64_t image = extents_[0];
  const uint64_t query = ExtentOf(Blocks::Series(1, 10, 40));
  const Settled settled = Settle(query, image, 40);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Just(Outcome::kOutOfScope));
}

// The neighbours that a run takes along are judged as well.
TEST_F(SettleInsideTest, NeighboursThatOutsideFilesHoldStay) {
  const uint64_t in = volume().AddDirectory("in");
  on_.roots = {{.path = "/mnt/in", .subvolume_id = kFsTree, .inode = in}};
  FileOf({Blocks::Series(1, 100)}, {.parent = in});
  const uint64_t image = extents_[0];
  FileOf({Blocks::Series(1, 10), Blocks::Series(1, 10, 10)}, {.parent = in});
  volume().MapExtent(volume().AddFile("outside"), extents_[1], {});
  const Settled settled = Settle(extents_[0], image, 0);
  EXPECT_THAT(Dropped(settled), ElementsAre(extents_[0]));
  ExpectSound(settled);
}

// Without a partner, neither would be looked at again.
TEST_F(SettleInsideTest, WhatChangesMeanwhileIsTriedAgain) {
  const InodeId image_file = FileOf({Blocks::Series(1, 20)});
  const uint64_t place = extents_[0];
  const InodeId query_file = FileOf({Blocks::Series(1, 10)});
  const uint64_t query = extents_[0];
  for (const auto& [address, file] : {std::pair(place, image_file), std::pair(query, query_file)}) {
    bool done = false;
    volume().AfterReferences([&, address = address, file = file](uint64_t looked_at) {
      if (looked_at == address && !std::exchange(done, true)) volume().Overwrite(file, 0, "x");
    });
    const Settled settled = Settle(query, place, 0);
    EXPECT_THAT(settled.drops, IsEmpty());
    EXPECT_THAT(ResultOf(settled, query), Just(Outcome::kRetry));
  }
}

TEST_F(SettleInsideTest, TooManyReferencesPin) {
  const uint64_t place = ExtentOf(Blocks::Series(1, 20));
  const uint64_t query = ExtentOf(Blocks::Series(1, 10));
  volume().FailReferences(query, absl::ResourceExhaustedError("30000 references"));
  const Settled settled = Settle(query, place, 0);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(ResultOf(settled, query), Pinned(Holder::kTooManyReferences));
}

// Its other references are in files that lie elsewhere: all move onto the same place.
TEST_F(SettleInsideTest, ReflinksAndSnapshotsOfTheQueryMoveAlong) {
  FileOf({Blocks::Series(1, 100)});
  const uint64_t image = extents_[0];
  const uint64_t query = ExtentOf(Blocks::Series(1, 10, 40));
  const InodeId part = volume().AddFile("part");
  volume().Append(part, "xyz");
  volume().MapExtent(part, query, {.at = 3, .from = 4, .blocks = 6});
  volume().AddSubvolume(300, {.name = "snap", .read_only = true, .snapshot_of = kFsTree});
  const Settled settled = Settle(query, image, 40);
  ASSERT_THAT(Dropped(settled), ElementsAre(query));
  EXPECT_THAT(settled.drops[0].moves, SizeIs(4));
  ExpectSound(settled);
  CarryOut(settled);
}

// ---- Size

// Ten thousand extents of one block: a walk over pieces must neither be quadratic nor miss the
// middle.
TEST_F(SettleInsideTest, FileOfManyPiecesIsMatchedAroundTheHit) {
  FileOf({Blocks::Series(1, 6000)});
  const uint64_t image = extents_[0];
  const InodeId file = volume().AddFile("f");
  std::vector<uint64_t> pieces;
  for (int64_t i = 0; i < 6000; ++i) {
    const uint64_t extent = volume().AddExtent(Blocks::Series(1, 1, i));
    pieces.push_back(extent);
  }
  volume().MapExtents(file, pieces);
  volume().RepackChecksums(3000);
  const Settled settled = Settle(pieces[3000], image, 3000);
  EXPECT_GT(settled.drops.size(), 2000u);
  std::set<uint64_t> dropped;
  for (const Drop& drop : settled.drops) dropped.insert(drop.address);
  EXPECT_EQ(dropped.count(pieces[3000]), 1u);
}

}  // namespace
}  // namespace onefold
