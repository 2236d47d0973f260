#include "cli/manual/man_page.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string PaintHelp() {
  return "Usage:  onefold paint WALL…\n\nPaints.\n\n  --dry   'no' paint\nExit codes:\n"
         "  0    painted\nExamples:\n  onefold paint north\n";
}
int RunNothing(const Arguments&) { return 0; }

const Command kPaint = {
    .name = "paint", .summary = "paints walls", .help = PaintHelp, .run = RunNothing};
const Command* const kCommands[] = {&kPaint};
const CommandGroup kRoom = {
    .name = "onefold room", .introduction = "Rooms.\n", .commands = kCommands, .command_count = 1};
const Command kRoomCommand = {.name = "room", .summary = "rooms", .group = &kRoom};
const Command* const kTop[] = {&kPaint, &kRoomCommand};
const CommandGroup kTool = {
    .name = "onefold", .introduction = "A tool.\n", .commands = kTop, .command_count = 2};

TEST(ManPageTest, EveryCommandHasAPage) {
  const std::vector<ManPage> pages = ManPages(kTool, "1.2.3");
  ASSERT_THAT(pages, SizeIs(4));
  EXPECT_EQ(pages[0].name, "onefold");
  EXPECT_EQ(pages[1].name, "onefold-paint");
  EXPECT_EQ(pages[2].name, "onefold-room");
  EXPECT_EQ(pages[3].name, "onefold-room-paint");
}

TEST(ManPageTest, PageHasTheUsualSections) {
  const std::string text = ManPages(kTool, "1.2.3")[1].text;
  EXPECT_THAT(text, HasSubstr(".SH NAME\nonefold\\-paint \\- paints walls\n"));
  EXPECT_THAT(text, HasSubstr(".SH SYNOPSIS\n.nf\nonefold paint WALL\\[u2026]\n.fi\n"));
  EXPECT_THAT(text, HasSubstr(".TP\n\\fB\\-\\-dry\\fR\n\\(aqno\\(aq paint\n"));
  EXPECT_THAT(text, HasSubstr(".SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\npainted\n"));
  EXPECT_THAT(text, HasSubstr(".SH \"SEE ALSO\"\n.BR onefold (1)\n"));
}

// A line that begins with a dot or an apostrophe is a request.
TEST(ManPageTest, TextIsNeverTakenForARequest) {
  EXPECT_EQ(RoffText(".so /etc/passwd"), "\\&.so /etc/passwd");
  EXPECT_EQ(RoffText("'br"), "\\(aqbr");
  EXPECT_EQ(RoffText("a\\fBb"), "a\\efBb");
  EXPECT_THAT(RoffText("·"), Not(HasSubstr("\xc2")));
}

}  // namespace
}  // namespace onefold
