#include "worker/parallel.h"

#include <atomic>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::Each;

// A group settled twice would be dropped twice; one left out would have no outcome.
TEST(ParallelTest, EachItemIsWorkedOnOnce) {
  for (const size_t items : {0, 1, 2, 7, 1000}) {
    for (const int threads : {0, 1, 2, 8, 64}) {
      std::vector<std::atomic<int>> times(items);
      std::atomic<bool> bad_thread{false};
      ForEachInParallel(items, threads, [&](int thread, size_t item) {
        ++times[item];
        if (thread < 0 || thread >= std::max(1, threads)) bad_thread = true;
      });
      std::vector<int> counts(times.begin(), times.end());
      EXPECT_THAT(counts, Each(1)) << items << " items, " << threads << " threads";
      EXPECT_FALSE(bad_thread.load()) << "a thread without things of its own";
    }
  }
}

}  // namespace
}  // namespace onefold
