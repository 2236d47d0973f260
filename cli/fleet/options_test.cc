#include "cli/fleet/options.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<OptionSpec>& Specs() {
  static const auto* const specs = new std::vector<OptionSpec>{{"--ttl", true}, {"--json", false}};
  return *specs;
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  const auto parsed = ParseOptions(Specs(), arguments);
  EXPECT_THAT(parsed, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(parsed.status().message());
}

TEST(OptionsTest, OptionsAndOperandsInAnyOrder) {
  const auto parsed = ParseOptions(Specs(), {"a", "--ttl", "1h", "b", "--json"});
  ASSERT_THAT(parsed, IsOk());
  EXPECT_THAT(parsed->operands(), ElementsAre("a", "b"));
  EXPECT_EQ(parsed->Value("--ttl"), "1h");
  EXPECT_TRUE(parsed->Has("--json"));
}

TEST(OptionsTest, EqualsSignAndTheLastValueWins) {
  const auto parsed = ParseOptions(Specs(), {"--ttl=1h", "--ttl=a=b"});
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(parsed->Value("--ttl"), "a=b");
  EXPECT_FALSE(parsed->Has("--json"));
  EXPECT_THAT(parsed->operands(), IsEmpty());
}

// A host may be called anything, also "--json"; and "-" is standard input.
TEST(OptionsTest, NothingIsAnOptionBehindTwoDashes) {
  const auto parsed = ParseOptions(Specs(), {"-", "--", "--json", "--"});
  ASSERT_THAT(parsed, IsOk());
  EXPECT_THAT(parsed->operands(), ElementsAre("-", "--json", "--"));
  EXPECT_FALSE(parsed->Has("--json"));
}

TEST(OptionsTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf({"--tttl", "1h"}), HasSubstr("no option --tttl"));
  EXPECT_THAT(ErrorOf({"--ttl"}), HasSubstr("value is missing"));
  EXPECT_THAT(ErrorOf({"--ttl="}), HasSubstr("value is empty"));
  EXPECT_THAT(ErrorOf({"--json=yes"}), HasSubstr("takes no value"));
  EXPECT_THAT(ErrorOf({"a", ""}), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf({"--\x1b[2J"}), HasSubstr("\\x1b"));
}

}  // namespace
}  // namespace onefold
