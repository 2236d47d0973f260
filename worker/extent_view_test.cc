#include "worker/extent_view.h"

#include <optional>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_encoding.h"
#include "worker/testing/scoped_volume.h"

namespace onefold {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kBlock = 4096;

class ExtentViewTest : public ::testing::Test {
 protected:
  FakeVolume& volume() { return on_.volume; }

  // The extent is there and looked at.
  ExtentView View(uint64_t address) {
    const auto view = on_.View(address);
    EXPECT_THAT(view, IsOk());
    if (!view.ok() || !view->has_value()) {
      ADD_FAILURE() << "no extent at " << address;
      return {};
    }
    return **view;
  }
  // The only reference of it.
  Reference Only(uint64_t address) {
    const ExtentView view = View(address);
    EXPECT_THAT(view.references, SizeIs(1));
    return view.references.empty() ? Reference{} : view.references[0];
  }
  bool Exists(uint64_t address, uint64_t generation = 0) {
    const auto view = on_.View(address, generation);
    EXPECT_THAT(view, IsOk());
    return view.ok() && view->has_value();
  }

  ScopedVolume on_;
};

TEST_F(ExtentViewTest, ReferenceTellsWhereItIs) {
  const InodeId file = volume().AddFile("f");
  volume().Append(file, "ab");
  const uint64_t extent = volume().AddExtent("cdefgh");
  volume().MapExtent(file, extent, {.at = 2, .from = 1, .blocks = 3});
  volume().SetSize(file, 5 * kBlock - 100);
  const ExtentView view = View(extent);
  EXPECT_EQ(view.address, extent);
  EXPECT_EQ(view.disk_bytes, 6 * kBlock);
  EXPECT_EQ(view.generation, 100u);
  EXPECT_EQ(view.item_references, 1u);
  ASSERT_THAT(view.references, SizeIs(1));
  const Reference& reference = view.references[0];
  EXPECT_EQ(reference.file, file);
  EXPECT_EQ(reference.file_offset, 2 * kBlock);
  EXPECT_EQ(reference.extent_offset, 1 * kBlock);
  EXPECT_EQ(reference.length, 3 * kBlock);
  EXPECT_EQ(reference.file_bytes, 5 * kBlock - 100);
  EXPECT_TRUE(reference.is_source);
  EXPECT_EQ(reference.holder, Holder::kNone);
  EXPECT_EQ(view.FirstHolder(), Holder::kNone);
}

TEST_F(ExtentViewTest, AllReferencesAreSeen) {
  const InodeId a = volume().AddFile("a");
  const InodeId b = volume().AddFile("b");
  const uint64_t extent = volume().Append(a, "abcd");
  volume().MapExtent(a, extent, {.at = 10, .from = 2, .blocks = 2});
  volume().MapExtent(b, extent, {});
  volume().AddSubvolume(300, {.name = "snap", .read_only = true, .snapshot_of = kFsTree});
  const ExtentView view = View(extent);
  EXPECT_THAT(view.references, SizeIs(6));
  EXPECT_EQ(view.item_references, 3u);  // the snapshot's are not counted
  EXPECT_EQ(view.FirstHolder(), Holder::kNone);
  for (const Reference& reference : view.references) {
    EXPECT_EQ(reference.in_readonly_subvolume, reference.file.subvolume == 300);
  }
}

// ---- What is not there (any more)

TEST_F(ExtentViewTest, ExtentThatIsGoneIsNoError) {
  EXPECT_FALSE(Exists(uint64_t{1} << 30));
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  EXPECT_TRUE(Exists(extent));
  volume().Remove(file);
  EXPECT_FALSE(Exists(extent)) << "nothing refers to it";
  ASSERT_THAT(volume().Commit(), IsOk());
  EXPECT_FALSE(Exists(extent));
}

// The address was used again: this is not the extent that was fingerprinted.
TEST_F(ExtentViewTest, OtherGenerationIsAnotherExtent) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  EXPECT_TRUE(Exists(extent, 100));
  EXPECT_FALSE(Exists(extent, 99));
  EXPECT_FALSE(Exists(extent, 101));
}

TEST_F(ExtentViewTest, TreeBlockIsNoExtent) {
  volume().PutItem(kExtentTree, {8192, kExtentItem, 16384}, EncodeTreeBlock(7, 5));
  EXPECT_FALSE(Exists(8192));
}

// Nothing but the address may be believed; an address inside an extent is none.
TEST_F(ExtentViewTest, AddressInsideAnExtentIsNotFound) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "abcd");
  EXPECT_FALSE(Exists(extent + kBlock));
}

// Between two look-ups the file was rewritten: it holds something unknown, so nothing may be
// dropped.
TEST_F(ExtentViewTest, ReferenceThatVanishedBetweenLookUpsHolds) {
  const InodeId a = volume().AddFile("a");
  const InodeId b = volume().AddFile("b");
  const uint64_t extent = volume().Append(a, "ab");
  volume().MapExtent(b, extent, {});
  volume().AfterReferences([&](uint64_t) { volume().Overwrite(b, 0, "xy"); });
  EXPECT_NE(View(extent).FirstHolder(), Holder::kNone);
}

TEST_F(ExtentViewTest, ErrorsAreNotTakenForAbsence) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  volume().FailReferences(extent, absl::DataLossError("bad leaf"));
  ExtentViewer viewer = on_.NewViewer();
  viewer.AskForAllReferences(true);
  EXPECT_THAT(viewer.View(extent, 0), HasCode(absl::StatusCode::kDataLoss));
}

// The item of an extent of one file says all, which spares a look-up. Not so under a snapshot,
// where the item cannot know.
TEST_F(ExtentViewTest, OneFileIsBelievedWhereNoSnapshotSharesItsLeaf) {
  volume().AddSubvolume(300, {.name = "home"});
  const InodeId file = volume().AddFile("f", {.subvolume = 300});
  const uint64_t extent = volume().Append(file, "ab");
  EXPECT_EQ(Only(extent).file, file);
  EXPECT_EQ(volume().reference_look_ups(), 0);
  volume().AddSubvolume(301, {.name = "snap", .snapshot_of = 300});
  ASSERT_THAT(on_.subvolumes.Load(), IsOk());
  EXPECT_THAT(View(extent).references, SizeIs(2));
  EXPECT_EQ(volume().reference_look_ups(), 1);
}

// Two files, or one that begins inside the extent.
TEST_F(ExtentViewTest, OtherwiseItIsAsked) {
  const InodeId file = volume().AddFile("f");
  const uint64_t twice = volume().Append(file, "ab");
  volume().MapExtent(volume().AddFile("g"), twice, {});
  const uint64_t inner = volume().AddExtent("cdef");
  volume().MapExtent(file, inner, {.at = 2, .from = 1, .blocks = 2});
  EXPECT_THAT(View(twice).references, SizeIs(2));
  EXPECT_EQ(Only(inner).extent_offset, kBlock);
  EXPECT_EQ(volume().reference_look_ups(), 2);
}

// Taken for a deleted file, it would be pinned without a word.
TEST_F(ExtentViewTest, UnreadableInodesAreNotTakenForDeletedOnes) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  volume().FailSearch(kFsTree, absl::DataLossError("bad leaf"));
  EXPECT_THAT(on_.View(extent), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(ExtentViewTest, UnreadableDirectoriesAreNoVerdict) {
  volume().AddSubvolume(300, {.name = "sub"});
  const InodeId file = volume().AddFile("f", {.subvolume = 300});
  const uint64_t extent = volume().Append(file, "ab");
  ASSERT_THAT(on_.subvolumes.Load(), IsOk());
  volume().FailSearch(kRootTree, absl::DataLossError("bad leaf"));
  EXPECT_THAT(on_.View(extent), HasCode(absl::StatusCode::kDataLoss));
}

TEST_F(ExtentViewTest, ErrorOfTheExtentTreeComesBack) {
  volume().FailSearch(kExtentTree, absl::DataLossError("bad leaf"));
  EXPECT_THAT(on_.View(4096), HasCode(absl::StatusCode::kDataLoss));
}

// ---- What pins

// Deleted but open: its blocks stay until it is closed, and it can be opened by no handle.
TEST_F(ExtentViewTest, DeletedFileThatIsOpenHolds) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  volume().Unlink(file);
  const Reference reference = Only(extent);
  EXPECT_EQ(reference.holder, Holder::kDeleted);
  EXPECT_FALSE(reference.is_source);
}

TEST_F(ExtentViewTest, SubvolumeThatIsBeingDeletedHolds) {
  volume().AddSubvolume(300, {.name = "old"});
  const InodeId file = volume().AddFile("f", {.subvolume = 300});
  const uint64_t extent = volume().Append(file, "ab");
  volume().BeginDeletingSubvolume(300);
  EXPECT_EQ(Only(extent).holder, Holder::kDeleted);
  EXPECT_FALSE(Only(extent).is_source);
}

TEST_F(ExtentViewTest, FilesOutsideHold) {
  const uint64_t inside = volume().AddDirectory("in");
  const InodeId out = volume().AddFile("f");
  const uint64_t extent = volume().Append(out, "ab");
  const InodeId in = volume().AddFile("g", {.parent = inside});
  volume().MapExtent(in, extent, {});
  on_.roots = {{.path = "/mnt/in", .subvolume_id = kFsTree, .inode = inside}};
  const ExtentView view = View(extent);
  EXPECT_EQ(view.FirstHolder(), Holder::kOutsideFiles);
  EXPECT_TRUE(view.HasSource());
  for (const Reference& reference : view.references) {
    EXPECT_EQ(reference.is_source, reference.file == in);
  }
}

TEST_F(ExtentViewTest, SnapshotsOutsideHold) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  volume().AddSubvolume(300, {.name = "home"});
  volume().AddSubvolume(301, {.parent = 300, .name = "snap", .snapshot_of = kFsTree});
  on_.roots = {{.path = "/srv", .subvolume_id = kFsTree, .inode = kTopDirectory},
               {.path = "/x", .subvolume_id = 300, .inode = 999}};
  volume().EraseItem(kRootTree, {300, kRootBackref, kFsTree});  // hangs elsewhere
  EXPECT_EQ(View(extent).FirstHolder(), Holder::kSnapshot);
}

// A snapshot of which a part is in scope is no foreign snapshot: the files beside are.
TEST_F(ExtentViewTest, FilesOfASnapshotBesideTheScopeAreOutsideFiles) {
  const uint64_t inside = volume().AddDirectory("in");
  const uint64_t extent = volume().Append(volume().AddFile("f"), "ab");
  volume().AddSubvolume(300, {.name = "snap", .snapshot_of = kFsTree});
  on_.roots = {{.path = "/mnt/in", .subvolume_id = 300, .inode = inside}};
  const ExtentView view = View(extent);
  for (const Reference& reference : view.references) {
    EXPECT_EQ(reference.holder, Holder::kOutsideFiles);
  }
}

TEST_F(ExtentViewTest, ExcludedFilesHoldAndNameThePattern) {
  on_.Exclude({"*.tmp", "*.iso"});
  const uint64_t extent = volume().Append(volume().AddFile("f.iso"), "ab");
  const Reference reference = Only(extent);
  EXPECT_EQ(reference.holder, Holder::kExcluded);
  EXPECT_EQ(reference.excluded_by, 1);
  EXPECT_FALSE(reference.is_source);
}

TEST_F(ExtentViewTest, SizeLimitsAreExact) {
  const auto held = [&](int64_t bytes) {
    const InodeId file = volume().AddFile("f");
    const uint64_t extent = volume().Append(file, "abcd");
    volume().SetSize(file, bytes);
    const Reference reference = Only(extent);
    EXPECT_EQ(reference.is_source, reference.holder == Holder::kNone);
    return reference.holder == Holder::kExcluded;
  };
  on_.limits = {.min_file_bytes = 13000, .max_file_bytes = 15000};
  EXPECT_TRUE(held(12999));
  EXPECT_FALSE(held(13000));
  EXPECT_FALSE(held(15000));
  EXPECT_TRUE(held(15001));
  on_.limits = {};
  EXPECT_FALSE(held(1));
}

// EPERM even for root; but it may be read from.
TEST_F(ExtentViewTest, ImmutableAndAppendOnlyFilesHoldAndAreSources) {
  for (const uint64_t flags : {InodeItem::kImmutable, InodeItem::kAppendOnly}) {
    const InodeId file = volume().AddFile("f", {.flags = flags});
    const Reference reference = Only(volume().Append(file, "ab"));
    EXPECT_EQ(reference.holder, Holder::kImmutable);
    EXPECT_TRUE(reference.is_source);
  }
}

// Read-only subvolumes can be deduped without touching their flag, unless somebody says otherwise.
TEST_F(ExtentViewTest, ReadonlySubvolumesHoldOnlyOnRequest) {
  volume().AddSubvolume(300, {.name = "ro", .read_only = true});
  const uint64_t extent = volume().Append(volume().AddFile("f", {.subvolume = 300}), "ab");
  EXPECT_EQ(Only(extent).holder, Holder::kNone);
  on_.limits = {.skip_readonly_subvolumes = true};
  EXPECT_EQ(Only(extent).holder, Holder::kReadonlySubvolume);
  EXPECT_FALSE(Only(extent).is_source);
}

// Reading a reservation as zeros and sharing it would take the reservation away.
TEST_F(ExtentViewTest, PreallocatedPartsHold) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().AppendPreallocated(file, 8);
  EXPECT_EQ(Only(extent).holder, Holder::kUnmatchedBlocks);
  EXPECT_TRUE(Only(extent).preallocated);
  EXPECT_FALSE(Only(extent).is_source);
  volume().WritePreallocated(file, 2, "ab");
  const ExtentView view = View(extent);
  ASSERT_THAT(view.references, SizeIs(3));
  EXPECT_EQ(view.references[1].holder, Holder::kNone);
  EXPECT_EQ(view.FirstHolder(), Holder::kUnmatchedBlocks);
}

// Space cache (root 1) and balance (-9) refer to data, but hold no files.
TEST_F(ExtentViewTest, ForeignTreesHold) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  for (const uint64_t tree : {uint64_t{1}, static_cast<uint64_t>(-9)}) {
    volume().AddForeignReference(extent, {tree, 258}, 0);
    const ExtentView view = View(extent);
    EXPECT_EQ(view.FirstHolder(), Holder::kOutsideFiles) << tree;
  }
  EXPECT_EQ(volume().searches(1) + volume().searches(static_cast<uint64_t>(-9)), 1)
      << "only the subvolume of the file is looked up";
}

TEST_F(ExtentViewTest, OtherEncodingsHold) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  volume().PutItem(kFsTree, {file.inode, kExtentData, 0},
                   EncodeFileExtent({.encoding = 1,
                                     .ram_bytes = 8192,
                                     .disk_address = extent,
                                     .disk_bytes = 8192,
                                     .length = 8192},
                                    100));
  EXPECT_EQ(Only(extent).holder, Holder::kRefused);
  EXPECT_FALSE(Only(extent).is_source);
}

// Symlinks and directories have no data extents; a damaged inode must not be opened as a file.
TEST_F(ExtentViewTest, OnlyRegularFilesAreTouched) {
  for (const uint32_t mode : {0120777u, 0040755u, 0010644u, 0060644u, 0020644u, 0140644u}) {
    const InodeId file = volume().AddFile("odd", {.mode = mode});
    const Reference reference = Only(volume().Append(file, "ab"));
    EXPECT_NE(reference.holder, Holder::kNone) << mode;
    EXPECT_FALSE(reference.is_source) << mode;
  }
}

TEST_F(ExtentViewTest, TooManyReferencesAreNotListed) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  volume().FailReferences(extent, absl::ResourceExhaustedError("30000 references"));
  const ExtentView view = View(extent);
  EXPECT_EQ(view.holder, Holder::kTooManyReferences);
  EXPECT_EQ(view.FirstHolder(), Holder::kTooManyReferences);
  EXPECT_THAT(view.references, IsEmpty());
  EXPECT_FALSE(view.HasSource());
}

// ---- Compression

TEST_F(ExtentViewTest, CompressedExtentHasTwoLengths) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().AppendCompressed(file, Blocks::Series(1, 32), "z", 3);
  const ExtentView view = View(extent);
  EXPECT_TRUE(view.compressed());
  EXPECT_EQ(view.compression, 3);
  EXPECT_EQ(view.disk_bytes, kBlock);
  EXPECT_EQ(view.ram_bytes, 32 * kBlock);
  EXPECT_EQ(view.references[0].length, 32 * kBlock);
}

// ---- How it looks

// One look-up a small file: twice as many would halve the planning of a million files.
TEST_F(ExtentViewTest, SmallFileCostsOneLookUp) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  ASSERT_THAT(on_.scope.Check(file, {}).verdict, Scope::Verdict::kInside);
  const int64_t before = volume().searches(kFsTree);
  View(extent);
  EXPECT_EQ(volume().searches(kFsTree) - before, 1);
}

// Inode, names and more names do not fit one look-up of a thousand links.
TEST_F(ExtentViewTest, ManyLinksAreReadToTheEnd) {
  on_.Exclude({"hidden"});
  const uint64_t hidden = volume().AddDirectory("hidden");
  const InodeId file = volume().AddFile("f", {.parent = hidden});
  const uint64_t extent = volume().Append(file, "ab");
  for (int i = 0; i < 300; ++i) volume().Link(file, hidden, "link" + std::to_string(i));
  EXPECT_EQ(Only(extent).holder, Holder::kExcluded);
  volume().Link(file, volume().AddDirectory("shown"), "shown");
  EXPECT_EQ(Only(extent).holder, Holder::kNone);
}

// A file that moved out of scope between two batches must not be touched because of a cache.
TEST_F(ExtentViewTest, ForgettingLooksAgain) {
  const InodeId file = volume().AddFile("f");
  const uint64_t extent = volume().Append(file, "ab");
  ExtentViewer viewer = on_.NewViewer();
  ASSERT_THAT(viewer.View(extent, 0), IsOk());
  volume().SetFlags(file, InodeItem::kImmutable);
  volume().Append(file, "cd");
  viewer.Forget();
  const auto view = viewer.View(extent, 0);
  ASSERT_THAT(view, IsOk());
  EXPECT_EQ((*view)->references[0].holder, Holder::kImmutable);
  EXPECT_EQ((*view)->references[0].file_bytes, 4 * kBlock);
}

TEST_F(ExtentViewTest, FileExtentsComeInOrderFromAnOffset) {
  const InodeId file = volume().AddFile("f");
  volume().Append(file, "ab");
  volume().AppendHole(file, 3);
  volume().Append(file, "c");
  volume().Append(file, "defg");
  ExtentViewer viewer = on_.NewViewer();
  const auto offsets = [&](int64_t from, size_t count_max) {
    std::vector<int64_t> found;
    EXPECT_THAT(viewer.ForEachFileExtent(file, from,
                                         [&](int64_t offset, const FileExtent&) {
                                           found.push_back(offset / kBlock);
                                           return found.size() < count_max;
                                         }),
                IsOk());
    return found;
  };
  EXPECT_EQ(offsets(0, 9), (std::vector<int64_t>{0, 5, 6}));
  EXPECT_EQ(offsets(1, 9), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(offsets(0, 2), (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(offsets(100 * kBlock, 9), (std::vector<int64_t>{}));
}

TEST_F(ExtentViewTest, GoneFilesHaveNeitherExtentsNorSize) {
  ExtentViewer viewer = on_.NewViewer();
  const auto none = [](int64_t, const FileExtent&) {
    ADD_FAILURE() << "an extent of nothing";
    return true;
  };
  EXPECT_THAT(viewer.ForEachFileExtent({kFsTree, 999}, 0, none), IsOk());
  EXPECT_THAT(viewer.ForEachFileExtent({777, 999}, 0, none), IsOk());
  EXPECT_EQ(viewer.FileBytes({kFsTree, 999}), std::nullopt);
  EXPECT_EQ(viewer.FileBytes({777, 999}), std::nullopt);
}

TEST_F(ExtentViewTest, PathsAreForPeople) {
  const InodeId file = volume().AddFile("f", {.parent = volume().AddDirectory("d")});
  volume().Append(file, "ab");
  EXPECT_EQ(on_.NewViewer().PathOf(file), "/srv/d/f");
  EXPECT_EQ(on_.NewViewer().PathOf({kFsTree, 999}), "inode 999 of subvolume 5");
}

}  // namespace
}  // namespace onefold
