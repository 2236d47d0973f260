#include "worker/run_registry.h"

#include "gtest/gtest.h"

namespace onefold {
namespace {

constexpr InodeId kFile{5, 257};
constexpr InodeId kOther{5, 258};
constexpr int64_t kShift = 1000;

RunRegistry::Query Asked(int64_t begin, int64_t end, int64_t span_begin, int64_t span_end) {
  return {.file = kFile,
          .other = kOther,
          .shift = kShift,
          .begin = begin,
          .end = end,
          .span_begin = span_begin,
          .span_end = span_end};
}

class RunRegistryTest : public ::testing::Test {
 protected:
  void Add(bool open_begin, bool open_end) {
    runs_.Add({.file = kFile,
               .other = kOther,
               .shift = kShift,
               .begin = 100,
               .end = 200,
               .open_begin = open_begin,
               .open_end = open_end},
              {.drops_something = true});
  }
  RunRegistry runs_;
};

TEST_F(RunRegistryTest, KnowsWhatLiesInsideFromBothSides) {
  Add(false, false);
  EXPECT_TRUE(runs_.Find(Asked(120, 130, 100, 200))->drops_something);
  EXPECT_FALSE(runs_.Find(Asked(90, 130, 100, 200)).has_value());
  const RunRegistry::Query reverse{.file = kOther,
                                   .other = kFile,
                                   .shift = -kShift,
                                   .begin = 1120,
                                   .end = 1130,
                                   .span_begin = 1120,
                                   .span_end = 1130};
  EXPECT_TRUE(runs_.Find(reverse)->drops_something);
}

TEST_F(RunRegistryTest, AnExtentThatReachesBeyondDifferingDataWasNotDropped) {
  Add(false, false);
  const auto verdict = runs_.Find(Asked(120, 130, 120, 201));
  ASSERT_TRUE(verdict.has_value());
  EXPECT_FALSE(verdict->drops_something);
  EXPECT_EQ(verdict->holder, Holder::kUnmatchedBlocks);
}

// A piece of a fragmented extent lies in a run that its limits cut within the extent: it was
// neither dropped nor refused, so it has to be compared from where it lies.
TEST_F(RunRegistryTest, AnExtentThatReachesBeyondALimitIsNotKnown) {
  Add(true, true);
  EXPECT_FALSE(runs_.Find(Asked(120, 130, 99, 200)).has_value());
  EXPECT_FALSE(runs_.Find(Asked(120, 130, 100, 201)).has_value());
  EXPECT_TRUE(runs_.Find(Asked(120, 130, 100, 200)).has_value());
}

}  // namespace
}  // namespace onefold
