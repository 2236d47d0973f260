#include "worker/walk_catalogue.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "absl/strings/escaping.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace onefold {
namespace {

constexpr uint64_t kBlock = 4096;

class WalkCatalogueTest : public ::testing::Test {
 protected:
  WalkCatalogueTest() {
    EXPECT_TRUE(WalkMap::Restore(
        2,
        {{.file_offset = 0, .address = 16 * kBlock, .length = 2 * kBlock, .file = 0, .shared = 1},
         {.file_offset = kBlock, .address = 17 * kBlock, .length = kBlock, .file = 1}},
        {{.address = 16 * kBlock, .generation = 5, .checksum_at = 4, .length = 2 * kBlock}}, kBlock,
        checksums_.size(), map_));
  }

  absl::Status Write() { return WriteWalkCatalogue(path_, 7, files_, map_, checksums_); }
  std::string Bytes() {
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Replace(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  TempDir folder_;
  const std::string path_ = folder_.path() + "/walk/volume";
  const std::vector<FileIdentity> files_ = {
      {.subvolume = 5, .inode = 257, .bytes = 8192, .modified_ns = -1, .changed_ns = 2},
      {.subvolume = 5, .inode = 258, .bytes = 5000, .modified_ns = 3, .changed_ns = 4}};
  ChecksumStore checksums_{"....abcdefgh...."};
  WalkMap map_;
};

TEST_F(WalkCatalogueTest, ComesBack) {
  ASSERT_THAT(Write(), IsOk());
  const auto read = ReadWalkCatalogue(path_, kBlock);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->generation, 7u);
  EXPECT_EQ(read->files, files_);
  EXPECT_EQ(read->checksums.size(), 8u);  // what no piece has is left out
  ASSERT_EQ(read->map.pieces().size(), 1u);
  EXPECT_EQ(read->map.pieces()[0].generation, 5u);
  EXPECT_EQ(read->map.ReferencesOf(0).size(), 2u);
  EXPECT_EQ(read->map.mappings()[0].shared, 1u);
  struct stat status = {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// docs/formats.md: another version of the program reads the same bytes.
TEST_F(WalkCatalogueTest, BytesAreFrozen) {
  ASSERT_THAT(Write(), IsOk());
  const std::string bytes = Bytes();
  ASSERT_EQ(bytes.size(), 64u + 2 * 40 + 2 * 32 + 32 + 8 + 8);
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 64)),
            "6f6e65666f6c642077616c6b20310a00"
            "07000000000000000010000000000000"
            "02000000000000000200000000000000"
            "01000000000000000800000000000000");
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(64, 40)),
            "05000000000000000101000000000000"
            "0020000000000000ffffffffffffffff"
            "0200000000000000");
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(144, 32)),
            "00000000000000000000010000000000"
            "00200000000000000000000001000000");
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(208, 32)),
            "00000100000000000500000000000000"
            "00000000000000000020000000000000");
}

TEST_F(WalkCatalogueTest, NoneAndOfAnotherBlockSize) {
  EXPECT_THAT(ReadWalkCatalogue(path_, kBlock), HasCode(absl::StatusCode::kNotFound));
  ASSERT_THAT(Write(), IsOk());
  EXPECT_THAT(ReadWalkCatalogue(path_, 2 * kBlock), HasCode(absl::StatusCode::kDataLoss));
}

// Whatever the disk made of it, it is not believed.
TEST_F(WalkCatalogueTest, CutOrChangedAnywhere) {
  ASSERT_THAT(Write(), IsOk());
  const std::string good = Bytes();
  for (size_t at = 0; at < good.size(); ++at) {
    Replace(good.substr(0, at));
    EXPECT_THAT(ReadWalkCatalogue(path_, kBlock), HasCode(absl::StatusCode::kDataLoss)) << at;
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    Replace(changed);
    EXPECT_THAT(ReadWalkCatalogue(path_, kBlock), HasCode(absl::StatusCode::kDataLoss)) << at;
  }
}

}  // namespace
}  // namespace onefold
