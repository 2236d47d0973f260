#include "worker/settle.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/scoped_volume.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr int64_t kBlock = 4096;

class SettleTest : public ::testing::Test {
 protected:
  FakeVolume& volume() { return on_.volume; }

  // A file of one extent; returns the extent's address.
  uint64_t FileOf(const Blocks& blocks, const FakeVolume::FileOptions& options) {
    last_file_ = volume().AddFile("f", options);
    return volume().Append(last_file_, blocks);
  }
  uint64_t FileOf(const Blocks& blocks) { return FileOf(blocks, {}); }
  // A further file that refers to the extent.
  InodeId Reflink(uint64_t extent, const FakeVolume::FileOptions& options) {
    const InodeId file = volume().AddFile("reflink", options);
    volume().MapExtent(file, extent, {});
    return file;
  }
  InodeId Reflink(uint64_t extent) { return Reflink(extent, {}); }
  // Scope is /mnt/in from now on; returns its inode.
  uint64_t NarrowScope() {
    const uint64_t in = volume().AddDirectory("in");
    on_.roots = {{.path = "/mnt/in", .subvolume_id = kFsTree, .inode = in}};
    return in;
  }

  Settled Settle(const Group& group) {
    ExtentViewer viewer = on_.NewViewer();
    auto settled = SettleWhole(group, viewer, kBlock);
    EXPECT_THAT(settled, IsOk());
    return settled.ok() ? *std::move(settled) : Settled{};
  }
  Settled Settle(const std::vector<uint64_t>& addresses) { return Settle(on_.GroupOf(addresses)); }

  // Dropped extent → the one it is dropped onto.
  static std::map<uint64_t, uint64_t> Drops(const Settled& settled) {
    std::map<uint64_t, uint64_t> drops;
    for (const Drop& drop : settled.drops) drops[drop.address] = drop.partner.address;
    return drops;
  }
  static std::map<uint64_t, Outcome> Outcomes(const Settled& settled) {
    std::map<uint64_t, Outcome> outcomes;
    for (const ExtentResult& result : settled.results) outcomes[result.address] = result.outcome;
    return outcomes;
  }
  static Holder HolderOf(const Settled& settled, uint64_t address) {
    for (const ExtentResult& result : settled.results) {
      if (result.address == address) return result.holder;
    }
    ADD_FAILURE() << "no result for " << address;
    return Holder::kNone;
  }

  ScopedVolume on_;
  InodeId last_file_;
};

TEST_F(SettleTest, OneOfTwoEqualExtentsIsDropped) {
  const uint64_t a = FileOf("abcd");
  const InodeId file_a = last_file_;
  const uint64_t b = FileOf("abcd");
  const Settled settled = Settle({a, b});
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(b, a)));
  EXPECT_THAT(Outcomes(settled), ElementsAre(Pair(a, Outcome::kKept)));
  EXPECT_THAT(settled.sources, ElementsAre(a));
  ASSERT_THAT(settled.drops[0].moves, SizeIs(1));
  EXPECT_EQ(settled.drops[0].moves[0].source, file_a);
  EXPECT_EQ(settled.drops[0].moves[0].destination, last_file_);
  EXPECT_EQ(settled.drops[0].disk_bytes, 4 * kBlock);
  EXPECT_EQ(settled.drops[0].kind, PlanKind::kWhole);
}

TEST_F(SettleTest, EightEqualExtentsOfOneFileBecomeOne) {
  const InodeId file = volume().AddFile("f");
  std::vector<uint64_t> extents;
  for (int i = 0; i < 8; ++i) extents.push_back(volume().Append(file, Blocks::Series(1, 32)));
  const Settled settled = Settle(extents);
  EXPECT_THAT(settled.drops, SizeIs(7));
  EXPECT_THAT(Outcomes(settled), ElementsAre(Pair(extents[0], Outcome::kKept)));
}

// A reference that stays behind keeps the extent: snapshots and reflinks move along.
TEST_F(SettleTest, AllReferencesOfADroppedExtentMove) {
  const uint64_t keep = FileOf("abcd");
  Reflink(keep);
  Reflink(keep);
  Reflink(keep);
  Reflink(keep);
  volume().AddSubvolume(300, {.name = "sub"});
  const uint64_t drop = FileOf("abcd", {.subvolume = 300});
  const InodeId original = last_file_;
  volume().AddSubvolume(301, {.name = "snap", .read_only = true, .snapshot_of = 300});
  const InodeId reflink = Reflink(drop);
  const Settled settled = Settle({keep, drop});
  ASSERT_THAT(Drops(settled), ElementsAre(Pair(drop, keep)));
  std::set<InodeId> destinations;
  for (const Move& move : settled.drops[0].moves) destinations.insert(move.destination);
  EXPECT_THAT(destinations, UnorderedElementsAre(original, InodeId{301, original.inode}, reflink));
  EXPECT_EQ(settled.drops[0].reference_count, 3);
  EXPECT_EQ(settled.drops[0].leaf_count, 2);
}

// ---- What is kept: one rule at a time, each stronger than all below it

TEST_F(SettleTest, KeepsWhatCannotBeDroppedAnyway) {
  const uint64_t free = FileOf("abcd");
  for (int i = 0; i < 5; ++i) Reflink(free);
  const uint64_t held = FileOf("abcd", {.flags = InodeItem::kImmutable});
  Group group = on_.GroupOf({free, held});
  group.members[0].kept_before = true;
  EXPECT_THAT(Drops(Settle(group)), ElementsAre(Pair(free, held)));
}

// Checked on a real filesystem: of two equal extents one had a dead half; keeping it frees nothing.
TEST_F(SettleTest, KeepsWhatCoversMostOfTheData) {
  const uint64_t dead_half = FileOf("abcd");
  volume().Overwrite(last_file_, 2, "xy");
  for (int i = 0; i < 3; ++i) {
    volume().MapExtent(volume().AddFile("r"), dead_half, {.blocks = 2});
  }
  const uint64_t whole = FileOf("abcd");
  Group group = on_.GroupOf({dead_half, whole});
  group.members[0].kept_before = true;
  EXPECT_THAT(Drops(Settle(group)), ElementsAre(Pair(dead_half, whole)));
}

// Later batches and runs keep to it, or they would move the same data to and fro.
TEST_F(SettleTest, KeepsWhatWasKeptBefore) {
  const uint64_t popular = FileOf("abcd");
  for (int i = 0; i < 5; ++i) Reflink(popular);
  const uint64_t kept = FileOf("abcd");
  Group group = on_.GroupOf({popular, kept});
  group.members[1].kept_before = true;
  EXPECT_THAT(Drops(Settle(group)), ElementsAre(Pair(popular, kept)));
}

// Fewer references to move.
TEST_F(SettleTest, KeepsWhatIsSharedMost) {
  volume().AddSubvolume(300, {.name = "ro", .read_only = true});
  const uint64_t in_snapshot = FileOf("abcd", {.subvolume = 300});
  const uint64_t popular = FileOf("abcd");
  Reflink(popular);
  EXPECT_THAT(Drops(Settle({in_snapshot, popular})), ElementsAre(Pair(in_snapshot, popular)));
}

TEST_F(SettleTest, KeepsWhatIsInAReadonlySnapshot) {
  const uint64_t low = FileOf("abcd");
  volume().AddSubvolume(300, {.name = "ro", .read_only = true});
  const uint64_t in_snapshot = FileOf("abcd", {.subvolume = 300});
  EXPECT_THAT(Drops(Settle({low, in_snapshot})), ElementsAre(Pair(low, in_snapshot)));
}

TEST_F(SettleTest, KeepsTheLowestAddress) {
  const uint64_t low = FileOf("abcd");
  const uint64_t high = FileOf("abcd");
  EXPECT_THAT(Drops(Settle({high, low})), ElementsAre(Pair(high, low)));
}

// Whatever order the index hands them out in, the choice is the same.
TEST_F(SettleTest, ChoiceDoesNotDependOnTheOrderOfMembers) {
  const uint64_t in = NarrowScope();
  std::vector<uint64_t> members = {FileOf("abcd", {.parent = in}), FileOf("abcd", {.parent = in}),
                                   FileOf("abcd", {.parent = in, .flags = InodeItem::kImmutable}),
                                   FileOf("abcd"),  // out of scope
                                   FileOf("abcd", {.parent = in})};
  Reflink(members[1], {.parent = in});
  Reflink(members[4]);  // from outside
  std::sort(members.begin(), members.end());
  const Settled first = Settle(members);
  EXPECT_THAT(first.drops, SizeIs(2));
  do {
    const Settled settled = Settle(members);
    ASSERT_EQ(Drops(settled), Drops(first));
    ASSERT_EQ(Outcomes(settled), Outcomes(first));
  } while (std::next_permutation(members.begin(), members.end()));
}

// ---- Members that are gone, or no equals after all

TEST_F(SettleTest, GoneMembersAreReportedAndTheRestGoesOn) {
  const uint64_t a = FileOf("abcd");
  const uint64_t gone = FileOf("abcd");
  const InodeId gone_file = last_file_;
  const uint64_t b = FileOf("abcd");
  const Group group = on_.GroupOf({a, gone, b});
  volume().Remove(gone_file);
  const Settled settled = Settle(group);
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(b, a)));
  EXPECT_EQ(Outcomes(settled)[gone], Outcome::kGone);
}

// A group that shrank to one, or to none, is no error.
TEST_F(SettleTest, LastMemberHasNoPartner) {
  const uint64_t a = FileOf("abcd");
  const uint64_t gone = FileOf("abcd");
  const Group group = on_.GroupOf({a, gone});
  volume().Remove(last_file_);
  const Settled settled = Settle(group);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(Outcomes(settled),
              ElementsAre(Pair(a, Outcome::kNoPartner), Pair(gone, Outcome::kGone)));
}

TEST_F(SettleTest, AllMembersMayBeGone) {
  const uint64_t a = FileOf("abcd");
  const InodeId file_a = last_file_;
  const uint64_t b = FileOf("abcd");
  const Group group = on_.GroupOf({a, b});
  volume().Remove(file_a);
  volume().Remove(last_file_);
  ASSERT_THAT(volume().Commit(), IsOk());
  EXPECT_THAT(Outcomes(Settle(group)),
              ElementsAre(Pair(a, Outcome::kGone), Pair(b, Outcome::kGone)));
}

// The address holds other data by now.
TEST_F(SettleTest, MemberOfAnotherGenerationIsGone) {
  const uint64_t a = FileOf("abcd");
  const uint64_t b = FileOf("abcd");
  Group group = on_.GroupOf({a, b});
  group.members[1].generation += 1;
  const Settled settled = Settle(group);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_EQ(Outcomes(settled)[b], Outcome::kGone);
}

// Equal checksums of compressed bytes are equal data only if they unpack alike: the kernel would
// read both sides whole, for nothing, in every run.
TEST_F(SettleTest, OnlyWhatUnpacksAlikeIsAlike) {
  const auto compressed = [&](int64_t blocks, uint8_t compression) {
    const InodeId file = volume().AddFile("z");
    return volume().AppendCompressed(file, Blocks::Series(7, blocks), "pq", compression);
  };
  const uint64_t plain = FileOf("pq");
  const uint64_t zlib = compressed(8, 1);
  const uint64_t zstd = compressed(8, 3);
  const uint64_t longer = compressed(9, 3);
  const uint64_t again = compressed(8, 3);
  const Settled settled = Settle({plain, zlib, zstd, longer, again});
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(again, zstd)));
  EXPECT_EQ(settled.drops[0].disk_bytes, 2 * kBlock);
  EXPECT_EQ(settled.drops[0].moves[0].length, 8 * kBlock);
  EXPECT_THAT(Outcomes(settled),
              ElementsAre(Pair(plain, Outcome::kNoPartner), Pair(zlib, Outcome::kNoPartner),
                          Pair(zstd, Outcome::kKept), Pair(longer, Outcome::kNoPartner)));
}

// ---- Scope

TEST_F(SettleTest, WhatIsOutsideIsNeitherChangedNorUsed) {
  const uint64_t in = NarrowScope();
  const uint64_t outside = FileOf("abcd");
  const uint64_t inside = FileOf("abcd", {.parent = in});
  const Settled settled = Settle({outside, inside});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(Outcomes(settled),
              ElementsAre(Pair(outside, Outcome::kOutOfScope), Pair(inside, Outcome::kOutOfScope)));
}

TEST_F(SettleTest, TwoInsideAreFoldedBesideOneOutside) {
  const uint64_t in = NarrowScope();
  const uint64_t outside = FileOf("abcd");
  const uint64_t a = FileOf("abcd", {.parent = in});
  const uint64_t b = FileOf("abcd", {.parent = in});
  const Settled settled = Settle({outside, a, b});
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(b, a)));
  EXPECT_EQ(Outcomes(settled)[outside], Outcome::kOutOfScope);
}

// One file of it is in scope: it can be read from, not dropped.
TEST_F(SettleTest, ExtentSharedWithOutsideIsKept) {
  const uint64_t in = NarrowScope();
  const uint64_t free = FileOf("abcd", {.parent = in});
  const uint64_t shared = FileOf("abcd", {.parent = in});
  Reflink(shared);
  const Settled settled = Settle({free, shared});
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(free, shared)));
  for (const Move& move : settled.drops[0].moves) EXPECT_EQ(move.source, last_file_);
}

// ---- What holds

// Both are held: nothing is freed by moving, and the report must say by what.
TEST_F(SettleTest, HolderOfTheSecondIsNamed) {
  struct Case {
    Holder holder;
    std::function<uint64_t()> make;
  };
  const uint64_t in = NarrowScope();
  volume().AddSubvolume(400, {.directory = in, .name = "inside"});
  on_.Exclude({"*.skip"});
  const auto inside = [&] { return FileOf("abcd", {.parent = in}); };
  const std::vector<Case> cases = {
      {Holder::kOutsideFiles,
       [&] {
         const uint64_t extent = inside();
         Reflink(extent);
         return extent;
       }},
      {Holder::kExcluded,
       [&] {
         const uint64_t extent = inside();
         volume().MapExtent(volume().AddFile("x.skip", {.parent = in}), extent, {});
         return extent;
       }},
      {Holder::kImmutable,
       [&] { return FileOf("abcd", {.parent = in, .flags = InodeItem::kImmutable}); }},
      {Holder::kDeleted,
       [&] {
         const uint64_t extent = inside();
         volume().Unlink(Reflink(extent, {.parent = in}));
         return extent;
       }},
      {Holder::kUnmatchedBlocks,
       [&] {
         const InodeId file = volume().AddFile("p", {.parent = in});
         const uint64_t extent = volume().AppendPreallocated(file, 4);
         volume().WritePreallocated(file, 0, "abc");
         return extent;
       }},
  };
  for (const Case& one : cases) {
    const uint64_t first = FileOf("abcd", {.parent = in, .flags = InodeItem::kImmutable});
    for (int i = 0; i < 5; ++i) Reflink(first, {.parent = in});
    const uint64_t second = one.make();
    const Settled settled = Settle({first, second});
    EXPECT_THAT(settled.drops, IsEmpty());
    ASSERT_THAT(settled.results, SizeIs(2));
    EXPECT_THAT(Outcomes(settled),
                ElementsAre(Pair(first, Outcome::kKept), Pair(second, Outcome::kPinned)));
    EXPECT_EQ(HolderOf(settled, second), one.holder);
  }
}

TEST_F(SettleTest, SnapshotOutsideTheScopePins) {
  volume().AddSubvolume(300, {.name = "home"});
  on_.roots = {{.path = "/home", .subvolume_id = 300, .inode = kTopDirectory}};
  const uint64_t a = FileOf("abcd", {.subvolume = 300});
  const uint64_t b = FileOf("abcd", {.subvolume = 300});
  volume().AddSubvolume(301, {.name = "snap", .read_only = true, .snapshot_of = 300});
  const Settled settled = Settle({a, b});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_EQ(Outcomes(settled)[a], Outcome::kKept);
  EXPECT_EQ(Outcomes(settled)[b], Outcome::kPinned);
  EXPECT_EQ(HolderOf(settled, b), Holder::kSnapshot);
}

// The snapshot inside the scope is no obstacle, read-only or not.
TEST_F(SettleTest, SnapshotInsideTheScopeMovesAlong) {
  volume().AddSubvolume(300, {.name = "home"});
  const uint64_t a = FileOf("abcd", {.subvolume = 300});
  const uint64_t b = FileOf("abcd", {.subvolume = 300});
  volume().AddSubvolume(301, {.name = "snap", .read_only = true, .snapshot_of = 300});
  EXPECT_THAT(Drops(Settle({a, b})), ElementsAre(Pair(b, a)));
}

// Skipped, read-only subvolumes are neither changed nor used; what they share with others is
// pinned.
TEST_F(SettleTest, ReadonlySubvolumesPinOnRequest) {
  on_.limits.skip_readonly_subvolumes = true;
  volume().AddSubvolume(300, {.name = "home"});
  const uint64_t a = FileOf("abcd", {.subvolume = 300});
  const uint64_t b = FileOf("abcd", {.subvolume = 300});
  volume().AddSubvolume(301, {.name = "snap", .read_only = true, .snapshot_of = 300});
  volume().AddSubvolume(302, {.name = "other", .read_only = true});
  const uint64_t in_snapshot_only = FileOf("abcd", {.subvolume = 302});
  const Settled settled = Settle({a, b, in_snapshot_only});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(Outcomes(settled), ElementsAre(Pair(a, Outcome::kKept), Pair(b, Outcome::kPinned),
                                             Pair(in_snapshot_only, Outcome::kOutOfScope)));
  EXPECT_EQ(HolderOf(settled, b), Holder::kReadonlySubvolume);
}

TEST_F(SettleTest, ExcludedFilesAreNoSourcesAndTheirBytesAreNoted) {
  on_.Exclude({"*.tmp", "*.skip"});
  const uint64_t a = FileOf("abcd");
  const InodeId file = volume().AddFile("x.skip");
  const uint64_t excluded = volume().Append(file, "abcd");
  const Settled settled = Settle({a, excluded});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(settled.excluded_bytes, ElementsAre(Pair(1, 4 * kBlock)));
}

// Of three excluded copies one would stay whatever the pattern says.
TEST_F(SettleTest, ExcludeHoldsBackAllCopiesButOne) {
  on_.Exclude({"*.skip"});
  const uint64_t a = volume().Append(volume().AddFile("x.skip"), "abcd");
  const uint64_t b = volume().Append(volume().AddFile("y.skip"), "abcd");
  const uint64_t c = volume().Append(volume().AddFile("z.skip"), "abcd");
  EXPECT_THAT(Settle({a, b, c}).excluded_bytes, ElementsAre(Pair(0, 8 * kBlock)));
}

// A reflink farm has more references than are looked at: it stays, and the report says why.
TEST_F(SettleTest, TooManyReferencesPin) {
  const uint64_t a = FileOf("abcd");
  const uint64_t b = FileOf("abcd");
  volume().FailReferences(b, absl::ResourceExhaustedError("30000 references"));
  const Settled settled = Settle({a, b});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_EQ(Outcomes(settled)[b], Outcome::kPinned);
  EXPECT_EQ(HolderOf(settled, b), Holder::kTooManyReferences);
}

// Pinned or without a partner, it would not be looked at again.
TEST_F(SettleTest, WhatChangesMeanwhileIsTriedAgain) {
  const uint64_t a = FileOf("abcd");
  const uint64_t b = FileOf("abcd");
  const InodeId file = last_file_;
  const InodeId other = Reflink(b);
  const Group group = on_.GroupOf({a, b});
  volume().AfterReferences([&](uint64_t address) {
    if (address == b) volume().Overwrite(other, 0, "x");
  });
  const Settled settled = Settle(group);
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_THAT(Outcomes(settled), ElementsAre(Pair(a, Outcome::kRetry), Pair(b, Outcome::kRetry)));
  EXPECT_EQ(volume().Contents(file), Blocks("abcd"));
}

TEST_F(SettleTest, ErrorsNameTheExtent) {
  const uint64_t a = FileOf("abcd");
  const uint64_t b = FileOf("abcd");
  const Group group = on_.GroupOf({a, b});
  volume().FailReferences(b, absl::DataLossError("bad leaf"));
  ExtentViewer viewer = on_.NewViewer();
  const auto settled = SettleWhole(group, viewer, kBlock);
  EXPECT_THAT(settled, HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(settled.status().message(), HasSubstr(std::to_string(b)));
}

// ---- Tails

TEST_F(SettleTest, EqualTailsAreFolded) {
  const uint64_t a = FileOf("abcd");
  volume().SetSize(last_file_, 4 * kBlock - 1000);
  const uint64_t b = FileOf("abcd");
  volume().SetSize(last_file_, 4 * kBlock - 1000);
  const Settled settled = Settle({a, b});
  ASSERT_THAT(Drops(settled), ElementsAre(Pair(b, a)));
  EXPECT_EQ(settled.drops[0].moves[0].length, 4 * kBlock - 1000);
}

// The padded last block of one file is a whole block in the middle of another.
TEST_F(SettleTest, TailAgainstTheMiddleOfAFileIsPinned) {
  const uint64_t middle = FileOf("abcd");
  volume().Append(last_file_, "more");
  const uint64_t tail = FileOf("abcd");
  volume().SetSize(last_file_, 4 * kBlock - 1000);
  const Settled settled = Settle({middle, tail});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_EQ(Outcomes(settled)[tail], Outcome::kPinned);
  EXPECT_EQ(HolderOf(settled, tail), Holder::kTail);
}

// Of those that end alike each kind keeps one.
TEST_F(SettleTest, EachKindOfTailKeepsOne) {
  std::vector<uint64_t> whole;
  std::vector<uint64_t> tails;
  for (int i = 0; i < 3; ++i) {
    whole.push_back(FileOf("abcd"));
    tails.push_back(FileOf("abcd"));
    volume().SetSize(last_file_, 4 * kBlock - 1);
  }
  const Settled settled = Settle({whole[0], tails[0], whole[1], tails[1], whole[2], tails[2]});
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(whole[1], whole[0]), Pair(tails[1], tails[0]),
                                          Pair(whole[2], whole[0]), Pair(tails[2], tails[0])));
  EXPECT_THAT(Outcomes(settled),
              ElementsAre(Pair(whole[0], Outcome::kKept), Pair(tails[0], Outcome::kKept)));
}

// ---- Dead parts

// Two halves that are dead on different sides have nothing to say to each other.
TEST_F(SettleTest, OppositeHalvesAreLeftAlone) {
  const uint64_t a = FileOf("abcd");
  volume().Overwrite(last_file_, 2, "xy");
  const uint64_t b = FileOf("abcd");
  volume().Overwrite(last_file_, 0, "vw");
  const Settled settled = Settle({a, b});
  EXPECT_THAT(settled.drops, IsEmpty());
  EXPECT_EQ(HolderOf(settled, b), Holder::kUnmatchedBlocks);
}

// Both have the same dead half: the live ones fold.
TEST_F(SettleTest, EqualHalvesAreFolded) {
  const uint64_t a = FileOf("abcd");
  volume().Overwrite(last_file_, 2, "xy");
  const uint64_t b = FileOf("abcd");
  volume().Overwrite(last_file_, 2, "zu");
  const Settled settled = Settle({a, b});
  ASSERT_THAT(Drops(settled), ElementsAre(Pair(b, a)));
  EXPECT_EQ(settled.drops[0].moves[0].length, 2 * kBlock);
  EXPECT_EQ(settled.drops[0].disk_bytes, 4 * kBlock);
}

// A held member with a dead half is no source for the whole ones: they fold with each other.
TEST_F(SettleTest, UselessKeepDoesNotStopTheOthers) {
  const uint64_t held = FileOf("abcd", {.flags = InodeItem::kImmutable});
  volume().Overwrite(last_file_, 2, "xy");
  const uint64_t a = FileOf("abcd");
  const uint64_t b = FileOf("abcd");
  const Settled settled = Settle({held, a, b});
  EXPECT_THAT(Drops(settled), ElementsAre(Pair(b, a)));
  EXPECT_EQ(Outcomes(settled)[a], Outcome::kKept);
}

}  // namespace
}  // namespace onefold
