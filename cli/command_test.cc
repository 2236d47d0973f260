#include "cli/command.h"

#include "cli/run_summary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

Arguments ran_with;

int RunList(const Arguments& arguments) {
  ran_with = arguments;
  return 7;
}
std::string ListHelp() { return "lists\n"; }

const Command kList = {.name = "list",
                       .parameters = "NAME…",
                       .summary = "what is there",
                       .help = ListHelp,
                       .run = RunList};
const Command* const kInner[] = {&kList};
const CommandGroup kInnerGroup = {
    .name = "tool inner", .introduction = "Inner.\n", .commands = kInner, .command_count = 1};
const Command kInnerCommand = {.name = "inner", .summary = "more", .group = &kInnerGroup};
const Command* const kOuter[] = {&kList, &kInnerCommand};
const CommandGroup kOuterGroup = {.name = "tool",
                                  .introduction = "A tool.\n",
                                  .commands = kOuter,
                                  .command_count = 2,
                                  .closing = "The end.\n"};

std::string PrintedBy(const Arguments& arguments, int exit_code) {
  CaptureStdout();
  CaptureStderr();
  EXPECT_EQ(RunCommandOf(kOuterGroup, arguments), exit_code);
  const std::string errors = GetCapturedStderr();
  return GetCapturedStdout() + errors;
}

TEST(CommandTest, FindsCommandsAtAnyDepth) {
  EXPECT_EQ(RunCommandOf(kOuterGroup, {"list", "a", "--b"}), 7);
  EXPECT_THAT(ran_with, ElementsAre("a", "--b"));
  EXPECT_EQ(RunCommandOf(kOuterGroup, {"inner", "list", "--", "--help"}), 7);
  EXPECT_THAT(ran_with, ElementsAre("--", "--help"));
}

TEST(CommandTest, HelpIsOfWhatWasNamed) {
  for (const Arguments& of_list :
       {Arguments{"help", "list"}, Arguments{"list", "x", "-h"},
        Arguments{"inner", "list", "--help"}, Arguments{"help", "inner", "list"},
        Arguments{"inner", "help", "list"}}) {
    EXPECT_EQ(PrintedBy(of_list, kExitDone), "lists\n");
  }
  for (const Arguments& of_inner : {Arguments{"help", "inner"}, Arguments{"inner", "--help"}}) {
    EXPECT_THAT(PrintedBy(of_inner, kExitDone), HasSubstr("Usage:  tool inner COMMAND"));
  }
  EXPECT_THAT(PrintedBy({"help", "nothing"}, kExitDone), HasSubstr("The end.\n"));
}

TEST(CommandTest, WhatIsUnknownIsRefusedWithAHint) {
  ran_with.clear();
  EXPECT_THAT(PrintedBy({"lits"}, kExitRefused),
              HasSubstr("there is no command 'lits'; did you mean 'list'?"));
  EXPECT_THAT(PrintedBy({"inner", "\n"}, kExitRefused), HasSubstr("Try: tool inner --help"));
  EXPECT_THAT(PrintedBy({}, kExitRefused), HasSubstr("Commands:"));
  EXPECT_THAT(ran_with, IsEmpty());
}

TEST(CommandTest, HelpIsNotWantedBehindTwoDashes) {
  EXPECT_FALSE(WantsHelp({"--", "--help"}));
  EXPECT_TRUE(WantsHelp({"/srv", "-h"}));
}

// Columns are counted in characters, or the list would be crooked behind "…".
TEST(CommandTest, TheListIsAligned) {
  EXPECT_THAT(GroupHelp(kOuterGroup), HasSubstr("  list NAME…     what is there\n"
                                                "  inner          more\n"
                                                "  help           this text"));
}

}  // namespace
}  // namespace onefold
