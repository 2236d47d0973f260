#include "coordinator/sorted_reader.h"

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "common/testing/test_seed.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

std::string Key(uint64_t address) { return AddressKey(Kind::kExtent, {1}, address); }

// Whether it walks or jumps, goes on or goes back, it must find exactly what is there: a miss would
// turn a known extent into a new one.
TEST(SortedReaderTest, FindsExactlyWhatIsThere) {
  std::mt19937_64 random(TestSeed());
  MemoryStore store;
  std::set<uint64_t> present;
  RowBatch batch;
  for (int i = 0; i < 500; ++i) present.insert(random() % 5000);
  for (const uint64_t address : present) batch.Put(Key(address), "");
  ASSERT_THAT(store.Write(batch), IsOk());

  SortedReader reader(store, KeyPrefix(Kind::kExtent, {1}));
  SortedReader jumper(store);
  uint64_t address = 0;
  for (int i = 0; i < 5000; ++i) {
    address = random() % 10 == 0 ? random() % 5000 : address + random() % 40;
    EXPECT_THAT(reader.Find(Key(address)), IsOkAndHolds(present.contains(address))) << address;
    EXPECT_THAT(jumper.Find(Key(address)), IsOkAndHolds(present.contains(address))) << address;
    for (uint64_t n = random() % 3; n > 0 && reader.row().Valid(); --n) reader.Next();
  }
}

}  // namespace
}  // namespace onefold::index
