#include "common/log.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/testing/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LogTest : public ::testing::Test {
 protected:
  std::unique_ptr<Log> NewLog(LogLevel level, LogFormat format) {
    return std::make_unique<Log>(Log::Options{.level = level, .format = format}, clock_,
                                 [this](absl::string_view line) { lines_.emplace_back(line); });
  }

  FakeClock clock_;
  std::vector<std::string> lines_;
};

TEST_F(LogTest, FormatsOfALine) {
  NewLog(LogLevel::kInfo, LogFormat::kJournal)
      ->Warning("disk full", {{"path", "/a b"}, {"n", "1"}});
  EXPECT_THAT(lines_, ElementsAre("<4>disk full path=\"/a b\" n=1\n"));
  lines_.clear();
  NewLog(LogLevel::kInfo, LogFormat::kText)->Error("x", {{"k", "v"}});
  EXPECT_THAT(lines_[0], HasSubstr("Z error: x k=v\n"));
  lines_.clear();
  NewLog(LogLevel::kInfo, LogFormat::kJson)->Info("say \"hi\"", {{"k", "a\nb\xff"}});
  EXPECT_THAT(lines_[0], StartsWith("{\"time\":\""));
  EXPECT_THAT(lines_[0],
              HasSubstr("\"level\":\"info\",\"message\":\"say \\\"hi\\\"\",\"k\":\"a\\u000ab"));
}

TEST_F(LogTest, LevelsBelowAreSilent) {
  const auto log = NewLog(LogLevel::kWarning, LogFormat::kText);
  log->Debug("a");
  log->Info("b");
  EXPECT_THAT(lines_, IsEmpty());
  log->Warning("c");
  EXPECT_THAT(lines_, SizeIs(1));
}

// A host's name must not forge a line.
TEST_F(LogTest, BytesOfOthersStayOnTheirLine) {
  NewLog(LogLevel::kInfo, LogFormat::kJournal)->Info("a\n<0>b", {{"host", "x\n<0>y"}});
  EXPECT_THAT(lines_, ElementsAre("<6>a\\n<0>b host=x\\n<0>y\n"));
}

// Whoever provokes a message a million times must not fill the disk.
TEST_F(LogTest, RepetitionsAreHeldBackAndCounted) {
  const auto log = NewLog(LogLevel::kInfo, LogFormat::kJournal);
  for (int i = 0; i < 1000; ++i) log->Warning("refused", {{"peer", absl::StrCat(i)}});
  EXPECT_THAT(lines_, SizeIs(10));
  log->Info("something else");
  EXPECT_THAT(lines_, SizeIs(11));
  clock_.Advance(absl::Minutes(2));
  log->Warning("refused", {{"peer", "again"}});
  ASSERT_THAT(lines_, SizeIs(13));
  EXPECT_EQ(lines_[11], "<4>refused repeated=990\n");
  EXPECT_EQ(lines_[12], "<4>refused peer=again\n");
}

TEST_F(LogTest, WhatWasHeldBackIsToldAtTheEnd) {
  auto log = NewLog(LogLevel::kInfo, LogFormat::kJournal);
  for (int i = 0; i < 12; ++i) log->Warning("refused");
  log.reset();
  EXPECT_EQ(lines_.back(), "<4>refused repeated=2\n");
}

TEST(LogNamesTest, LevelsAndFormats) {
  EXPECT_EQ(LogLevelOf("error"), LogLevel::kError);
  EXPECT_EQ(LogLevelOf("info"), LogLevel::kInfo);
  EXPECT_EQ(LogFormatOf("auto", nullptr), LogFormat::kText);
  EXPECT_EQ(LogFormatOf("auto", "8:123"), LogFormat::kJournal);
  EXPECT_EQ(LogFormatOf("json", "8:123"), LogFormat::kJson);
  EXPECT_EQ(LogFormatOf("text", "8:123"), LogFormat::kText);
}

}  // namespace
}  // namespace onefold
