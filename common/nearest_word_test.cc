#include "common/nearest_word.h"

#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(EditDistanceTest, CountsWhatWasMistyped) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("listen", "listen"), 0);
  EXPECT_EQ(EditDistance("lisen", "listen"), 1);
  EXPECT_EQ(EditDistance("litsen", "listen"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(NearestWordTest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> words = {"listen", "insecure", "state_directory"};
  EXPECT_EQ(NearestWord("litsen", words), "listen");
  EXPECT_EQ(NearestWord("state_dir", words), "");
  EXPECT_EQ(NearestWord("state-directory", words), "state_directory");
  EXPECT_EQ(NearestWord("colour", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord(std::string(100000, 'x'), words), "");
}

}  // namespace
}  // namespace onefold
