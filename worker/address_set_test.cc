#include "worker/address_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace onefold {
namespace {

TEST(AddressSetTest, HoldsWhatWasInserted) {
  AddressSet set(4096);
  EXPECT_FALSE(set.contains(0));
  EXPECT_TRUE(set.insert(0));
  EXPECT_FALSE(set.insert(0));
  EXPECT_TRUE(set.contains(0));
  EXPECT_FALSE(set.contains(4096));
  EXPECT_FALSE(set.contains(uint64_t{64} * 4096));
  const uint64_t last = ~uint64_t{4095};
  EXPECT_TRUE(set.insert(last));
  EXPECT_TRUE(set.contains(last));
}

TEST(AddressSetTest, IsASet) {
  std::mt19937_64 random(1);
  AddressSet set(16384);
  std::set<uint64_t> model;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t address = random() % 10'000 * 16384;
    EXPECT_EQ(set.contains(address), model.contains(address));
    EXPECT_EQ(set.insert(address), model.insert(address).second);
  }
}

// Neighbours share what they take.
TEST(AddressSetTest, IsSmall) {
  AddressSet set(4096);
  for (uint64_t i = 0; i < 64'000; ++i) set.insert(i * 4096);
  EXPECT_EQ(set.word_count(), 1000u);
}

}  // namespace
}  // namespace onefold
