#include "bench/fleet_load/extent_source.h"

#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace onefold::bench {
namespace {

// What is measured with it is worth nothing if it is no NAS.
TEST(ExtentSourceTest, LooksLikeANas) {
  ExtentSource source({.seed = 7, .extent_count = 200'000});
  ExtentRow row;
  uint64_t end = 0;
  int64_t count = 0;
  int64_t anchor_count = 0;
  std::map<uint64_t, int> copies;
  while (source.Next(row)) {
    EXPECT_GE(row.address, end);
    end = row.address + uint64_t{row.length_blocks} * 4096;
    anchor_count += static_cast<int64_t>(row.fingerprint->anchors.size());
    EXPECT_TRUE(row.fingerprint->head.has_value());
    ++copies[row.fingerprint->digest];
    ++count;
  }
  EXPECT_EQ(count, 200'000);
  EXPECT_NEAR(static_cast<double>(source.block_count()) / 200'000, 16, 0.5);
  EXPECT_NEAR(static_cast<double>(anchor_count) / 200'000, 0.2, 0.05);
  EXPECT_NEAR(static_cast<double>(source.duplicate_count()) / 200'000, 0.1, 0.03);
  EXPECT_EQ(static_cast<int64_t>(copies.size()), count - source.duplicate_count());
}

TEST(ExtentSourceTest, EqualSeedsGiveEqualExtents) {
  const auto digests = [](uint64_t seed) {
    ExtentSource source({.seed = seed, .extent_count = 100});
    std::vector<uint64_t> found;
    for (ExtentRow row; source.Next(row);) found.push_back(row.fingerprint->digest ^ row.address);
    return found;
  };
  EXPECT_EQ(digests(1), digests(1));
  EXPECT_NE(digests(1), digests(2));
}

}  // namespace
}  // namespace onefold::bench
