#include "cli/manual/completion.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string PaintHelp() {
  return "Usage:  onefold paint WALL\n        onefold paint undo FILE\n\n"
         "  --colour=red|blue   eva's colour\n  --list FILE   a list\n";
}
int RunNothing(const Arguments&) { return 0; }

const Command kPaint = {.name = "paint",
                        .parameters = "HOST",
                        .summary = "paints the wall's front",
                        .help = PaintHelp,
                        .run = RunNothing};
const Command* const kTop[] = {&kPaint};
const CommandGroup kTool = {
    .name = "onefold", .introduction = "A tool.\n", .commands = kTop, .command_count = 1};

TEST(CompletionTest, CommandsKnowTheirWordsOptionsAndOperands) {
  const std::vector<CompletedCommand> commands = CompletedCommands(kTool);
  ASSERT_THAT(commands, SizeIs(2));
  EXPECT_EQ(commands[0].words[0].word, "paint");
  EXPECT_EQ(commands[1].path, "onefold paint");
  ASSERT_THAT(commands[1].words, SizeIs(1));
  EXPECT_EQ(commands[1].words[0].word, "undo");
  EXPECT_EQ(commands[1].operands, "hosts");
  EXPECT_THAT(commands[1].options, SizeIs(3));  // and --help
}

TEST(CompletionTest, PlacesAreKnownByTheirName) {
  EXPECT_EQ(PlaceKindOf("DIR", "onefold dedupe"), "directory");
  EXPECT_EQ(PlaceKindOf("NAME", "onefold policy show"), "policies");
  EXPECT_EQ(PlaceKindOf("NAME", "onefold fleet user add"), "");
}

TEST(CompletionTest, ValuesAreOffered) {
  const std::vector<CompletedCommand> commands = CompletedCommands(kTool);
  const char* const choice = "'onefold paint --colour') kind='words red blue' ;;";
  EXPECT_THAT(BashCompletion(commands), HasSubstr(choice));
  EXPECT_THAT(ZshCompletion(commands), HasSubstr(choice));
  EXPECT_THAT(FishCompletion(commands), HasSubstr("-l colour -x -a 'red blue'"));
}

TEST(CompletionTest, QuotesInTextsAreHarmless) {
  const std::vector<CompletedCommand> commands = CompletedCommands(kTool);
  EXPECT_THAT(ZshCompletion(commands), HasSubstr("'--colour:eva'\\''s colour'"));
  EXPECT_THAT(FishCompletion(commands), HasSubstr("-d 'eva\\'s colour'"));
}

}  // namespace
}  // namespace onefold
