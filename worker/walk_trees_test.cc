#include "worker/walk_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "worker/extent_view.h"
#include "worker/scanner.h"
#include "worker/scope.h"
#include "worker/subvolumes.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kBlock = 4096;

// A volume that only looks: what the rest of the worker makes of a walk.
class TreesVolume final : public Volume {
 public:
  TreesVolume() {
    info_.walked = true;
    files.AddRoot(0);
    const uint32_t folder = files.AddDirectory(0, "folder", 0);
    files.AddFile(0, "a", {.inode = 1, .bytes = 10 * kBlock}, false);
    files.AddFile(folder, "b", {.inode = 2, .bytes = 4 * kBlock - 1}, true);
    files.AddFile(folder, "c", {.inode = 3, .bytes = kBlock}, false);
    std::vector<WalkMapping> mappings = {
        {.address = 100 * kBlock, .length = 10 * kBlock, .file = 0},
        {.address = 104 * kBlock, .length = 4 * kBlock, .file = 1, .shared = 1},
        {.address = 200 * kBlock, .length = kBlock, .file = 2, .shared = 1}};
    // b was shared with a part of a.
    EXPECT_TRUE(WalkMap::Restore(
        3, std::move(mappings),
        {{.address = 100 * kBlock, .generation = 5, .checksum_at = 0, .length = 10 * kBlock},
         {.address = 200 * kBlock, .generation = 7, .checksum_at = 40, .length = kBlock},
         {.address = 300 * kBlock, .generation = 0, .checksum_at = 0, .length = kBlock}},
        kBlock, 44, map));
    checksums = ChecksumStore("0000111122223333444455556666777788889999xxxx");
  }

  WalkTrees trees() const { return {files, map, checksums, 1}; }
  const VolumeInfo& info() const override { return info_; }
  absl::Status Search(const TreeRange& range,
                      const std::function<bool(const TreeItem&)>& visit) override {
    return trees().Search(range, visit);
  }
  absl::StatusOr<std::vector<RawReference>> References(uint64_t address, int64_t) override {
    return trees().ReferencesOf(map.FindPiece(address));
  }
  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const InodeId&) override { return Never(); }
  absl::StatusOr<std::unique_ptr<ScratchFile>> NewScratchFile(const InodeId&) override {
    return Never();
  }
  int Dedupe(OpenFile&, int64_t, int64_t, absl::Span<DedupeDestination>) override { return 0; }
  absl::StatusOr<int64_t> Commit() override { return Never(); }
  absl::StatusOr<int64_t> Generation() override { return Never(); }
  absl::StatusOr<SpaceInfo> Space() override { return Never(); }

  WalkFiles files;
  WalkMap map;
  ChecksumStore checksums;

 private:
  static absl::Status Never() { return absl::InternalError("not asked for here"); }
  VolumeInfo info_;
};

class WalkTreesTest : public ::testing::Test {
 protected:
  TreesVolume volume_;
  const std::vector<ScopeRoot> roots_ = {
      {.path = "/r", .subvolume_id = 5, .inode = walk_id::kRoots}};
  ExcludeList excludes_;
  Scope scope_{volume_, roots_, excludes_};
  Subvolumes subvolumes_{volume_};
  FileLimits limits_;
  ExtentViewer viewer_{volume_, scope_, subvolumes_, limits_};
};

TEST_F(WalkTreesTest, ScannedLikeAnyVolume) {
  const auto chunks = DataChunks(volume_);
  ASSERT_THAT(chunks, IsOk());
  std::vector<uint64_t> found;
  std::string checksums;
  ChecksumReader reader(volume_);
  for (const AddressRange& chunk : *chunks) {
    ASSERT_THAT(ForEachExtent(volume_, chunk, 0,
                              [&](const ScannedExtent& extent) {
                                found.push_back(extent.address / kBlock);
                                const auto present = reader.Read(
                                    extent.address, extent.length / int64_t{kBlock}, checksums);
                                EXPECT_EQ(*present, extent.length / int64_t{kBlock});
                                return true;
                              }),
                IsOk());
  }
  EXPECT_THAT(found, ElementsAre(100, 200));  // what was not read is not there yet
  EXPECT_EQ(checksums, "xxxx");
  ASSERT_THAT(reader.Read(102 * kBlock, 2, checksums), IsOk());
}

TEST_F(WalkTreesTest, OnlyWhatIsNew) {
  std::vector<uint64_t> found;
  ASSERT_THAT(ForEachExtent(volume_, {0, 1 << 30}, 6,
                            [&](const ScannedExtent& extent) {
                              found.push_back(extent.address / kBlock);
                              return true;
                            }),
              IsOk());
  EXPECT_THAT(found, ElementsAre(200));
}

TEST_F(WalkTreesTest, AnExtentAndItsReferences) {
  const auto view = viewer_.View(100 * kBlock, 5);
  ASSERT_THAT(view, IsOk());
  ASSERT_TRUE(view->has_value());
  const std::vector<Reference>& references = (*view)->references;
  ASSERT_EQ(references.size(), 2u);
  EXPECT_EQ(references[0].length, 10 * int64_t{kBlock});
  EXPECT_EQ(references[0].holder, Holder::kNone);
  EXPECT_TRUE(references[0].is_source);
  EXPECT_EQ(references[1].extent_offset, 4 * int64_t{kBlock});
  EXPECT_EQ(references[1].file_bytes, 4 * int64_t{kBlock} - 1);
  EXPECT_EQ(references[1].holder, Holder::kImmutable);
  EXPECT_EQ(viewer_.PathOf(references[1].file), "/r/folder/b");
  EXPECT_EQ(viewer_.PathOf(references[0].file), "/r/a");
}

// Giving it up would free nothing.
TEST_F(WalkTreesTest, SharedWithSomethingThatWasNotWalked) {
  const auto view = viewer_.View(200 * kBlock, 0);
  ASSERT_THAT(view, IsOk());
  ASSERT_TRUE(view->has_value());
  EXPECT_EQ((*view)->references.size(), 2u);
  EXPECT_EQ((*view)->FirstHolder(), Holder::kOutsideFiles);
  EXPECT_TRUE((*view)->HasSource());
}

// What is held outside is asked about again once that changed, as with a set of snapshots.
TEST_F(WalkTreesTest, TheSetOfHeldPiecesIsSeen) {
  ASSERT_THAT(subvolumes_.Load(), IsOk());
  const uint64_t before = subvolumes_.SetDigest();
  volume_.map = WalkMap();
  ASSERT_THAT(subvolumes_.Load(), IsOk());
  EXPECT_NE(subvolumes_.SetDigest(), before);
}

TEST_F(WalkTreesTest, ExtentsOfAFileInOrder) {
  std::vector<std::pair<int64_t, uint64_t>> extents;
  ASSERT_THAT(viewer_.ForEachFileExtent(walk_id::OfFile(0), 0,
                                        [&](int64_t at, const FileExtent& extent) {
                                          extents.emplace_back(at, extent.length / kBlock);
                                          return true;
                                        }),
              IsOk());
  EXPECT_THAT(extents, ElementsAre(std::make_pair(0, 10u)));
}

TEST_F(WalkTreesTest, NumbersThatNothingHas) {
  for (const uint64_t inode :
       {uint64_t{0}, uint64_t{256}, walk_id::kDirectories + 99, walk_id::kFiles + 3, UINT64_MAX}) {
    EXPECT_EQ(viewer_.FileBytes({.subvolume = 5, .inode = inode}), std::nullopt) << inode;
  }
}

}  // namespace
}  // namespace onefold
