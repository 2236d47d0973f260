// The fake is worth as much as it keeps the kernel's rules; those that tests rely on are held here.
// The real ones are asked in tests/btrfs.

#include "worker/testing/fake_volume.h"

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kBlock = 4096;

class FakeVolumeTest : public ::testing::Test {
 protected:
  InodeId FileOf(const Blocks& blocks) {
    const InodeId file = volume_.AddFile("f");
    extent_ = volume_.Append(file, blocks);
    return file;
  }
  // Status of one request; bytes are in `bytes_`.
  int Dedupe(const InodeId& source, int64_t offset, int64_t length, const InodeId& destination,
             int64_t to) {
    auto from = volume_.Open(source);
    auto file = volume_.Open(destination);
    EXPECT_TRUE(from.ok() && file.ok());
    DedupeDestination request{.file = file->get(), .offset = to};
    const int error = volume_.Dedupe(**from, offset, length, {&request, 1});
    bytes_ = request.bytes;
    return error != 0 ? -error : request.status;
  }
  static TreeRange WholeTree(uint64_t tree) {
    return {.tree = tree, .first = {}, .last = {UINT64_MAX, UINT8_MAX, UINT64_MAX}};
  }
  size_t ReferenceCount(uint64_t extent) {
    const auto references = volume_.References(extent, 1000);
    return references.ok() ? references->size() : 0;
  }
  uint64_t ItemReferences(uint64_t extent) {
    uint64_t count = 0;
    EXPECT_THAT(volume_.Search({.tree = kExtentTree,
                                .first = {extent, kExtentItem, 0},
                                .last = {extent, kExtentItem, UINT64_MAX}},
                               [&](const TreeItem& item) {
                                 count = ParseExtentItem(item.body)->references;
                                 return false;
                               }),
                IsOk());
    return count;
  }

  FakeVolume volume_;
  uint64_t extent_ = 0;
  int64_t bytes_ = 0;
};

TEST_F(FakeVolumeTest, DroppedExtentGoesWithTheCommit) {
  const InodeId a = FileOf("abcd");
  const uint64_t kept = extent_;
  const InodeId b = FileOf("abcd");
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), 0);
  EXPECT_EQ(bytes_, 4 * kBlock);
  EXPECT_EQ(ReferenceCount(extent_), 0u);
  EXPECT_EQ(ReferenceCount(kept), 2u);
  EXPECT_TRUE(volume_.ExtentExists(extent_));
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_FALSE(volume_.ExtentExists(extent_));
  EXPECT_THAT(volume_.References(extent_, 10), HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(ItemReferences(kept), 2u);
}

// btrfs frees an extent only when its last block is unreferenced.
TEST_F(FakeVolumeTest, PartlyMovedExtentStays) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abcd");
  EXPECT_EQ(Dedupe(a, 0, 3 * kBlock, b, 0), 0);
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_TRUE(volume_.ExtentExists(extent_));
  EXPECT_EQ(volume_.Contents(b), Blocks("abcd"));
  EXPECT_THAT(volume_.ExtentsOf(b), SizeIs(2));
}

TEST_F(FakeVolumeTest, DifferentBlocksAreNotShared) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abXd");
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), 1);
  EXPECT_EQ(bytes_, 0);
  EXPECT_EQ(volume_.Contents(b), Blocks("abXd"));
  EXPECT_EQ(Dedupe(a, 0, 2 * kBlock, b, 0), 0);
}

TEST_F(FakeVolumeTest, RangesMustFitAndBeAligned) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abcd");
  EXPECT_EQ(Dedupe(a, 0, 5 * kBlock, b, 0), -EINVAL);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, kBlock), -EINVAL);
  EXPECT_EQ(Dedupe(a, 100, kBlock, b, 100), -EINVAL);
  EXPECT_EQ(Dedupe(a, 0, 2 * kBlock, a, kBlock), -EINVAL) << "overlaps";
}

// Where the ends differ, the kernel leaves the partial block out and says that it did it all.
TEST_F(FakeVolumeTest, TailIsSharedOnlyWithATail) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abcd");
  volume_.SetSize(b, 4 * kBlock - 1000);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock - 1000, b, 0), 0);
  EXPECT_EQ(bytes_, 4 * kBlock - 1000);
  EXPECT_EQ(ReferenceCount(extent_), 1u) << "the last block stayed";
  volume_.SetSize(a, 4 * kBlock - 1000);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock - 1000, b, 0), 0);
  EXPECT_EQ(ReferenceCount(extent_), 0u);
}

TEST_F(FakeVolumeTest, FlagsRefuse) {
  const InodeId a = FileOf("abcd");
  const InodeId immutable = FileOf("abcd");
  volume_.SetFlags(immutable, InodeItem::kImmutable);
  EXPECT_EQ(Dedupe(a, 0, kBlock, immutable, 0), -EPERM);
  EXPECT_EQ(Dedupe(immutable, 0, kBlock, a, 0), 0) << "it may be the source";
  const InodeId swapfile = FileOf("abcd");
  volume_.SetSwapfile(swapfile);
  EXPECT_EQ(Dedupe(a, 0, kBlock, swapfile, 0), -ETXTBSY);
  EXPECT_EQ(Dedupe(swapfile, 0, kBlock, a, 0), -ETXTBSY);
  const InodeId nocow = volume_.AddFile("n", {.nodatasum = true});
  volume_.Append(nocow, "abcd");
  EXPECT_EQ(Dedupe(a, 0, kBlock, nocow, 0), -EINVAL);
}

TEST_F(FakeVolumeTest, TooManyDestinationsAreRefused) {
  const InodeId a = FileOf("a");
  const InodeId b = FileOf("a");
  auto from = volume_.Open(a);
  auto file = volume_.Open(b);
  std::vector<DedupeDestination> many(128, {.file = file->get()});
  EXPECT_EQ(volume_.Dedupe(**from, 0, kBlock, absl::MakeSpan(many)), ENOMEM);
}

// A snapshot shares the leaf: its references are seen by a look-up, not by the extent item.
TEST_F(FakeVolumeTest, SnapshotsShareLeavesUntilSomethingChanges) {
  const InodeId a = FileOf("abcd");
  const uint64_t extent = extent_;
  const InodeId keep = FileOf("abcd");
  volume_.AddSubvolume(300, {.name = "snap", .snapshot_of = kFsTree});
  EXPECT_EQ(ReferenceCount(extent), 2u);
  EXPECT_EQ(ItemReferences(extent), 1u);
  volume_.Overwrite(a, 0, "x");
  EXPECT_EQ(ReferenceCount(extent), 2u);
  EXPECT_EQ(ItemReferences(extent), 2u) << "two leaves by now";
  EXPECT_EQ(volume_.Contents({300, a.inode}), Blocks("abcd"));
  EXPECT_EQ(volume_.Contents(keep), Blocks("abcd"));
}

TEST_F(FakeVolumeTest, DeletedFilesOpenNoMore) {
  const InodeId file = FileOf("abcd");
  volume_.Unlink(file);
  EXPECT_THAT(volume_.Open(file), HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(ReferenceCount(extent_), 1u) << "somebody has it open";
  volume_.Remove(file);
  EXPECT_EQ(ReferenceCount(extent_), 0u);
}

TEST_F(FakeVolumeTest, SubvolumesAreDeletedInTwoSteps) {
  volume_.AddSubvolume(300, {.name = "sub"});
  const InodeId file = volume_.AddFile("f", {.subvolume = 300});
  const uint64_t extent = volume_.Append(file, "abcd");
  volume_.BeginDeletingSubvolume(300);
  EXPECT_THAT(volume_.Open(file), HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(ReferenceCount(extent), 1u);
  const TreeRange range = WholeTree(300);
  const auto any = [](const TreeItem&) { return true; };
  EXPECT_THAT(volume_.Search(range, any), IsOk());
  volume_.DeleteSubvolume(300);
  EXPECT_THAT(volume_.Search(range, any), HasCode(absl::StatusCode::kNotFound));
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_FALSE(volume_.ExtentExists(extent));
}

TEST_F(FakeVolumeTest, WriteIntoPreallocatedSpaceKeepsAddressAndGeneration) {
  const InodeId file = volume_.AddFile("f");
  const uint64_t extent = volume_.AppendPreallocated(file, 4);
  EXPECT_EQ(volume_.Contents(file), Blocks("...."));
  ASSERT_THAT(volume_.Commit(), IsOk());
  volume_.WritePreallocated(file, 1, "xy");
  EXPECT_EQ(volume_.Contents(file), Blocks(".xy."));
  EXPECT_THAT(volume_.ExtentsOf(file), ElementsAre(extent));
  EXPECT_EQ(ReferenceCount(extent), 3u);
}

// Items come a buffer at a time; what changes between two buffers is seen.
TEST_F(FakeVolumeTest, SearchGoesOnWhereItWas) {
  for (uint64_t i = 0; i < 10; ++i) volume_.PutItem(kExtentTree, {i, 1, 0}, std::string(100, 'x'));
  std::vector<uint64_t> seen;
  ASSERT_THAT(volume_.Search({.tree = kExtentTree,
                              .first = {2, 0, 0},
                              .last = {8, UINT8_MAX, UINT64_MAX},
                              .item_count = 2},
                             [&](const TreeItem& item) {
                               seen.push_back(item.key.object);
                               if (item.key.object == 3) volume_.EraseItem(kExtentTree, {5, 1, 0});
                               return true;
                             }),
              IsOk());
  EXPECT_THAT(seen, ElementsAre(2, 3, 4, 6, 7, 8));
}

TEST_F(FakeVolumeTest, ChecksumsOfFreedExtentsGo) {
  const InodeId a = FileOf("ab");
  FileOf("cd");
  volume_.RepackChecksums(100);
  volume_.Remove(a);
  ASSERT_THAT(volume_.Commit(), IsOk());
  std::map<uint64_t, size_t> items;
  ASSERT_THAT(volume_.Search(WholeTree(kChecksumTree),
                             [&](const TreeItem& item) {
                               items[item.key.offset] = item.body.size();
                               return true;
                             }),
              IsOk());
  EXPECT_THAT(items, ElementsAre(std::pair<const uint64_t, size_t>(extent_, 8)));
}

TEST_F(FakeVolumeTest, PagesAreCachedByReadingAndDroppedOnRequest) {
  const InodeId file = FileOf("abcd");
  auto open = volume_.Open(file);
  std::string buffer(2 * kBlock, '\0');
  EXPECT_THAT((*open)->Read(kBlock, absl::MakeSpan(buffer)), IsOkAndHolds(2 * kBlock));
  EXPECT_EQ(buffer[0], 'b');
  EXPECT_THAT((*open)->ResidentPages(0, 4 * kBlock), ElementsAre(false, true, true, false));
  (*open)->DropPages(kBlock, kBlock);
  EXPECT_THAT(volume_.ResidentPagesOf(file), ElementsAre(2));
  EXPECT_THAT((*open)->Read(4 * kBlock, absl::MakeSpan(buffer)), IsOkAndHolds(0));
}

// The kernel throws away what was cached of a range that it lets share other blocks.
TEST_F(FakeVolumeTest, SharedDestinationIsNoLongerCached) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abcd");
  volume_.SetResident(b, 0, 4);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), 0);
  EXPECT_THAT(volume_.ResidentPagesOf(b), IsEmpty());
}

TEST_F(FakeVolumeTest, AnswersComeAsWritten) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abcd");
  volume_.AnswerNext(b, {{.status = -EAGAIN}, {.bytes = kBlock}, {.pretends = true}});
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), -EAGAIN);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), 0);
  EXPECT_EQ(bytes_, kBlock);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), 0);
  EXPECT_EQ(bytes_, 4 * kBlock);
  EXPECT_EQ(ReferenceCount(extent_), 1u);
  volume_.FailCalls({0, EIO});
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), 0);
  EXPECT_EQ(Dedupe(a, 0, 4 * kBlock, b, 0), -EIO);
  EXPECT_EQ(ReferenceCount(extent_), 0u);
}

TEST_F(FakeVolumeTest, TwoCallsOnOneInodeAreNoticed) {
  const InodeId a = FileOf("abcd");
  const InodeId b = FileOf("abcd");
  const InodeId c = FileOf("abcd");
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    if (number == 0) Dedupe(a, 0, kBlock, c, 0);
    if (number == 0) ReferenceCount(extent_);
  });
  Dedupe(a, 0, kBlock, b, 0);
  EXPECT_EQ(volume_.inode_clashes(), 1);
  EXPECT_EQ(volume_.reference_clashes(), 0);
}

}  // namespace
}  // namespace onefold
