#include "cli/command_line.h"

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DedupeArguments Parsed(const std::vector<std::string>& arguments) {
  const auto parsed = ParseDedupe(arguments);
  EXPECT_THAT(parsed, IsOk());
  return parsed.value_or(DedupeArguments());
}

std::string Refusal(const std::vector<std::string>& arguments) {
  const auto parsed = ParseDedupe(arguments);
  EXPECT_THAT(parsed, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(parsed.status().message());
}

TEST(ParseDedupeTest, WithoutAnything) {
  const DedupeArguments parsed = Parsed({});
  EXPECT_THAT(parsed.paths, IsEmpty());
  EXPECT_EQ(parsed.exclude_patterns, std::nullopt);
  EXPECT_EQ(parsed.match_extents_only, std::nullopt);
  EXPECT_EQ(parsed.skip_readonly_subvolumes, std::nullopt);
  EXPECT_FALSE(parsed.dry_run);
  EXPECT_EQ(parsed.progress, ProgressMode::kAuto);
}

TEST(ParseDedupeTest, EveryOption) {
  const DedupeArguments parsed = Parsed({"--dry-run",
                                         "--json",
                                         "--progress=json",
                                         "--quiet",
                                         "--state",
                                         "/s",
                                         "--exclude",
                                         "*.iso",
                                         "--exclude=b",
                                         "--min-size",
                                         "4K",
                                         "--max-size=2G",
                                         "--skip-readonly-subvolumes",
                                         "--match=extents",
                                         "--relocate=never",
                                         "--full",
                                         "--threads",
                                         "3",
                                         "--max-time",
                                         "1h30m",
                                         "/srv",
                                         "/home"});
  EXPECT_TRUE(parsed.dry_run && parsed.json && parsed.full);
  EXPECT_EQ(parsed.progress, ProgressMode::kJson);
  EXPECT_EQ(parsed.verbosity, Verbosity::kQuiet);
  EXPECT_EQ(parsed.state_directory, "/s");
  EXPECT_THAT(*parsed.exclude_patterns, ElementsAre("*.iso", "b"));
  EXPECT_EQ(parsed.min_file_bytes, 4096);
  EXPECT_EQ(parsed.max_file_bytes, int64_t{2} << 30);
  EXPECT_EQ(parsed.skip_readonly_subvolumes, true);
  EXPECT_EQ(parsed.match_extents_only, true);
  EXPECT_EQ(parsed.thread_count, 3);
  EXPECT_EQ(parsed.max_time, absl::Minutes(90));
  EXPECT_THAT(parsed.paths, ElementsAre("/srv", "/home"));
  EXPECT_EQ(Parsed({"-v"}).verbosity, Verbosity::kVerbose);
  EXPECT_EQ(Parsed({"--match=all"}).match_extents_only, false);
  EXPECT_EQ(Parsed({"--no-skip-readonly-subvolumes"}).skip_readonly_subvolumes, false);
}

TEST(ParseDedupeTest, OptionsMayFollowPaths) {
  const DedupeArguments parsed = Parsed({"/srv", "--dry-run", "/home"});
  EXPECT_TRUE(parsed.dry_run);
  EXPECT_THAT(parsed.paths, ElementsAre("/srv", "/home"));
}

// Argument parsers like to see lists, quotes and commands in what are names of files.
TEST(ParseDedupeTest, PathsAndPatternsAreTakenByteForByte) {
  EXPECT_THAT(Parsed({"[a,b]", "dedupe", "'x'", "a,b", "-", "caf\xe9"}).paths,
              ElementsAre("[a,b]", "dedupe", "'x'", "a,b", "-", "caf\xe9"));
  EXPECT_THAT(*Parsed({"--exclude=[ab]", "--exclude", "[a,b]"}).exclude_patterns,
              ElementsAre("[ab]", "[a,b]"));
  EXPECT_THAT(*Parsed({"--exclude", ""}).exclude_patterns, ElementsAre(""));
  EXPECT_THAT(*Parsed({"--exclude=a="}).exclude_patterns, ElementsAre("a="));
  EXPECT_EQ(Parsed({"--state=[a,b]"}).state_directory, "[a,b]");
}

// `--exclude a b` must not turn the path b into a pattern.
TEST(ParseDedupeTest, AnOptionTakesOneValue) {
  const DedupeArguments parsed = Parsed({"--exclude", "a", "/srv"});
  EXPECT_THAT(*parsed.exclude_patterns, ElementsAre("a"));
  EXPECT_THAT(parsed.paths, ElementsAre("/srv"));
}

TEST(ParseDedupeTest, BehindTwoDashesEverythingIsAPath) {
  const DedupeArguments parsed = Parsed({"/srv", "--", "--dry-run", "-x", "--"});
  EXPECT_FALSE(parsed.dry_run);
  EXPECT_THAT(parsed.paths, ElementsAre("/srv", "--dry-run", "-x", "--"));
}

TEST(ParseDedupeTest, TheLastOfTwoCounts) {
  EXPECT_EQ(Parsed({"--threads=2", "--threads=5"}).thread_count, 5);
  EXPECT_TRUE(Parsed({"--dry-run", "--dry-run"}).dry_run);
}

TEST(ParseDedupeTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(Refusal({"--dryrun", "/srv"}), HasSubstr("--dryrun"));
  EXPECT_THAT(Refusal({"--min-size=much", "/srv"}), HasSubstr("'much' is no size"));
  EXPECT_THAT(Refusal({"--max-time=soon", "/srv"}), HasSubstr("--max-time: 'soon'"));
  EXPECT_THAT(Refusal({"--threads=0", "/srv"}), HasSubstr("--threads"));
  EXPECT_THAT(Refusal({"--threads=1e1", "/srv"}), HasSubstr("--threads"));
  EXPECT_THAT(Refusal({"--match=some", "/srv"}), HasSubstr("--match"));
  EXPECT_THAT(Refusal({"--relocate=always", "/srv"}), HasSubstr("--relocate"));
  EXPECT_THAT(Refusal({"--progress=loud", "/srv"}), HasSubstr("--progress"));
  EXPECT_THAT(Refusal({"--exclude"}), HasSubstr("--exclude"));
  EXPECT_THAT(Refusal({"--exclude=", "/srv"}), HasSubstr("value is missing"));
  EXPECT_THAT(Refusal({"/srv", "--min-size"}), HasSubstr("--min-size: the value is missing"));
  EXPECT_THAT(Refusal({"--match="}), HasSubstr("--match: the value is missing"));
  EXPECT_THAT(Refusal({"--progress=loud"}), HasSubstr("it may be auto, plain, json, none"));
  EXPECT_THAT(Refusal({"-q", "-v"}), HasSubstr("--verbose"));
  EXPECT_THAT(Refusal({"--json=maybe", "/srv"}), HasSubstr("--json takes no value"));
  EXPECT_THAT(Refusal({"--dry-run=false", "/srv"}), HasSubstr("--dry-run takes no value"));
}

TEST(HelpTest, HasEveryOptionAndTheExitCodes) {
  const std::string help = DedupeHelp();
  for (const char* text :
       {"--dry-run", "--json", "--progress", "--quiet", "--verbose", "--state", "--exclude",
        "--min-size", "--max-size", "--skip-readonly-subvolumes", "--match", "--relocate", "--full",
        "--threads", "--max-time", "PATH", "Exit codes", "130"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
  EXPECT_THAT(ProgramVersion(), HasSubstr("onefold "));
}

}  // namespace
}  // namespace onefold
