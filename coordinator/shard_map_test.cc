#include "coordinator/shard_map.h"

#include <map>
#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

VolumeUuid Uuid(int number) {
  VolumeUuid uuid;
  uuid.bytes[0] = static_cast<uint8_t>(number);
  uuid.bytes[1] = static_cast<uint8_t>(number >> 8);
  return uuid;
}

TEST(ShardMapTest, OneCoordinatorServesEverything) {
  const ShardMap map;
  EXPECT_TRUE(map.IsOwn(Uuid(1)));
  EXPECT_EQ(map.AddressFor(Uuid(1)), "");
  EXPECT_THAT(map.CheckOwn(Uuid(1)), IsOk());
  EXPECT_TRUE(ShardMap({"a:1"}, 0).IsOwn(Uuid(1)));
}

// Two that both refuse a volume, or both serve it, would be worse than none.
TEST(ShardMapTest, ExactlyOneShardServesAVolumeInWhateverOrderTheyStand) {
  const ShardMap first({"a:1", "b:2", "c:3"}, 0);
  const ShardMap second({"c:3", "a:1", "b:2"}, 2);
  const ShardMap third({"a:1", "b:2", "c:3"}, 2);
  std::map<std::string, int> counts;
  for (int i = 0; i < 3000; ++i) {
    const VolumeUuid uuid = Uuid(i);
    EXPECT_EQ(first.IsOwn(uuid) + second.IsOwn(uuid) + third.IsOwn(uuid), 1);
    const std::string address = first.IsOwn(uuid) ? "a:1" : first.AddressFor(uuid);
    EXPECT_EQ(second.IsOwn(uuid) ? "b:2" : second.AddressFor(uuid), address);
    ++counts[address];
  }
  for (const char* address : {"a:1", "b:2", "c:3"}) {
    EXPECT_GT(counts[address], 850) << address;
    EXPECT_LT(counts[address], 1150) << address;
  }
}

// Moving a volume means scanning it again elsewhere.
TEST(ShardMapTest, ANewShardTakesOnlyWhatItGets) {
  const ShardMap two({"a:1", "b:2"}, 0);
  const ShardMap three({"a:1", "b:2", "c:3"}, 2);
  int moved = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string before = two.IsOwn(Uuid(i)) ? "a:1" : two.AddressFor(Uuid(i));
    if (three.IsOwn(Uuid(i))) {
      ++moved;
    } else {
      EXPECT_EQ(three.AddressFor(Uuid(i)), before);
    }
  }
  EXPECT_NEAR(moved, 1000, 150);
}

TEST(ShardMapTest, ARefusalNamesTheShard) {
  const ShardMap map({"a:1", "b:2"}, 0);
  int i = 0;
  while (map.IsOwn(Uuid(i))) ++i;
  const absl::Status status = map.CheckOwn(Uuid(i));
  EXPECT_THAT(status, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(status.message()), HasSubstr("b:2"));
}

// Coordinators of different versions must agree for ever.
TEST(ShardMapTest, TheHashIsFrozen) {
  const ShardMap map({"nas1:7171", "nas2:7171"}, 0);
  std::string owners;
  for (int i = 0; i < 16; ++i) owners += map.IsOwn(Uuid(i)) ? '0' : '1';
  EXPECT_EQ(owners, "0110101011111000");
}

}  // namespace
}  // namespace onefold
