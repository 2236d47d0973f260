#include "worker/fiemap.h"

#include <gtest/gtest.h>
#include <linux/fiemap.h>

#include <optional>

namespace onefold {
namespace {

constexpr uint64_t kBlock = 4096;

class FiemapTest : public ::testing::Test {
 protected:
  std::optional<FileMapping> Take(uint64_t logical, uint64_t physical, uint64_t length,
                                  uint32_t flags) {
    FileMapping mapping;
    if (!TakeFiemapRecord(logical, physical, length, flags, file_bytes_, kBlock, mapping,
                          left_out_)) {
      return std::nullopt;
    }
    return mapping;
  }

  uint64_t file_bytes_ = 10 * kBlock;
  UnmappedBytes left_out_;
};

TEST_F(FiemapTest, PlainAndShared) {
  const auto plain = Take(0, 8 * kBlock, 4 * kBlock, 0);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->address, 8 * kBlock);
  EXPECT_EQ(plain->length, 4 * kBlock);
  EXPECT_FALSE(plain->shared || plain->compressed);
  EXPECT_TRUE(Take(0, kBlock, kBlock, FIEMAP_EXTENT_SHARED)->shared);
  EXPECT_TRUE(Take(0, kBlock, kBlock, FIEMAP_EXTENT_ENCODED)->compressed);
}

// XFS allocates far behind the end of a file that grows: that is nothing of it.
TEST_F(FiemapTest, CutAtTheEndOfTheFile) {
  file_bytes_ = 2 * kBlock + 1;
  EXPECT_EQ(Take(0, kBlock, 100 * kBlock, 0)->length, 3 * kBlock);
  EXPECT_FALSE(Take(3 * kBlock, kBlock, kBlock, 0));
}

// Sharing what has no blocks of its own would be refused, once for each file.
TEST_F(FiemapTest, WhatCannotBeShared) {
  EXPECT_FALSE(Take(0, kBlock, kBlock, FIEMAP_EXTENT_UNWRITTEN));
  EXPECT_EQ(left_out_.preallocated, kBlock);
  EXPECT_FALSE(Take(0, 0, 100, FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED));
  EXPECT_EQ(left_out_.inlined, 100u);
  EXPECT_FALSE(Take(0, 0, kBlock, FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN));
  EXPECT_FALSE(Take(0, kBlock, kBlock, FIEMAP_EXTENT_DATA_ENCRYPTED));
  EXPECT_EQ(left_out_.unknown, 2 * kBlock);
}

// Whatever a filesystem answers, no address overflows.
TEST_F(FiemapTest, Nonsense) {
  EXPECT_FALSE(Take(0, kBlock, 0, 0));
  EXPECT_FALSE(Take(0, kBlock + 1, kBlock, 0));
  EXPECT_FALSE(Take(0, UINT64_MAX - kBlock + 1, kBlock, 0));
  EXPECT_FALSE(Take(kBlock, kBlock, UINT64_MAX, 0));
  EXPECT_FALSE(Take(UINT64_MAX - 1, kBlock, kBlock, 0));
}

}  // namespace
}  // namespace onefold
