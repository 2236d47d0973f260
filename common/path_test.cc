#include "common/path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::Eq;
using ::testing::Optional;

// A scope of /srv/data must not reach into /srv/data2.
TEST(PathTest, BelowIsDecidedByWholeNames) {
  EXPECT_THAT(PathBelow("/srv/data", "/srv/data/a/b"), Optional(Eq("a/b")));
  EXPECT_THAT(PathBelow("/srv/data", "/srv/data"), Optional(Eq("")));
  EXPECT_EQ(PathBelow("/srv/data", "/srv/data2"), std::nullopt);
  EXPECT_EQ(PathBelow("/srv/data", "/srv"), std::nullopt);
  EXPECT_EQ(PathBelow("/srv/data", "/"), std::nullopt);
}

TEST(PathTest, TheRootOfAllIsAboveEverything) {
  EXPECT_THAT(PathBelow("/", "/srv"), Optional(Eq("srv")));
  EXPECT_THAT(PathBelow("/", "/"), Optional(Eq("")));
}

TEST(PathTest, JoinIsTheReverse) {
  EXPECT_EQ(JoinPath("/", "a/b"), "/a/b");
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a", ""), "/a");
  EXPECT_EQ(JoinPath("/", ""), "/");
}

}  // namespace
}  // namespace onefold
