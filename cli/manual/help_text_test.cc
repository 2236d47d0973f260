#include "cli/manual/help_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = HelpBlock::Kind;

constexpr char kHelp[] = R"(Usage:  onefold paint [OPTIONS] WALL
        onefold paint undo

Paints a wall,
and dries it.

  --role ROLE            looks · works
How:
  --colour=red|blue      which one: red
                         (the default)
  -q, --quiet            say less
  --a-very-long-name-of-an-option
                         does it
Exit codes:  0 painted

Examples:
  onefold paint north
)";

TEST(HelpTextTest, UsageParagraphsHeadingsAndItems) {
  const HelpText help = ParseHelp(kHelp);
  EXPECT_THAT(help.usage, ElementsAre("onefold paint [OPTIONS] WALL", "onefold paint undo"));
  ASSERT_THAT(help.blocks, SizeIs(10));
  EXPECT_EQ(help.blocks[0].text, "Paints a wall, and dries it.");
  EXPECT_EQ(help.blocks[2].kind, Kind::kHeading);
  EXPECT_EQ(help.blocks[2].text, "How");
  EXPECT_EQ(help.blocks[3].term, "--colour=red|blue");
  EXPECT_EQ(help.blocks[3].text, "which one: red (the default)");
  EXPECT_EQ(help.blocks[6].text, "Exit codes");
  EXPECT_EQ(help.blocks[7].text, "0 painted");
  EXPECT_EQ(help.blocks[9].kind, Kind::kVerbatim);
}

TEST(HelpTextTest, OptionsKnowTheirValues) {
  const std::vector<HelpOption> options = OptionsOf(ParseHelp(kHelp));
  ASSERT_THAT(options, SizeIs(4));
  EXPECT_EQ(options[0].value, "ROLE");
  EXPECT_THAT(options[1].names, ElementsAre("--colour"));
  EXPECT_THAT(options[1].choices, ElementsAre("red", "blue"));
  EXPECT_THAT(options[2].names, ElementsAre("-q", "--quiet"));
  EXPECT_THAT(options[2].value, IsEmpty());
  EXPECT_EQ(options[3].text, "does it");
}

TEST(HelpTextTest, ChoicesMayStandInTheUsage) {
  const HelpText help = ParseHelp(
      "Usage:  onefold add NAME --role viewer|admin [OPTIONS]\n\n  --role ROLE   what it may\n");
  EXPECT_THAT(OptionsOf(help)[0].choices, ElementsAre("viewer", "admin"));
}

TEST(HelpTextTest, FirstClauseEndsBeforeTheDetails) {
  EXPECT_EQ(FirstClause("at most N; default 50"), "at most N");
  EXPECT_EQ(FirstClause("all of it"), "all of it");
}

TEST(HelpTextTest, AnyTextIsTaken) {
  EXPECT_THAT(ParseHelp("").blocks, IsEmpty());
  EXPECT_THAT(OptionsOf(ParseHelp("  -  \n  -,\n\n   --\nUsage:")), SizeIs(2));
}

}  // namespace
}  // namespace onefold
