#include "common/config/setting.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string Text(const Setting& setting, absl::string_view text) {
  const auto value = ParseSetting(setting, text);
  EXPECT_THAT(value, IsOk());
  return value.ok() ? value->text : "";
}

std::string Refusal(const Setting& setting, absl::string_view text) {
  const auto value = ParseSetting(setting, text);
  EXPECT_THAT(value, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(value.status().message());
}

TEST(SettingTest, NamesOfFlagsAndVariables) {
  EXPECT_EQ(FlagName({.key = "state_directory"}), "--state-directory");
  EXPECT_EQ(VariableName({.key = "state_directory"}), "ONEFOLD_STATE_DIRECTORY");
}

TEST(SettingTest, Booleans) {
  const Setting setting = {.key = "b", .type = SettingType::kBool};
  EXPECT_EQ(Text(setting, "Yes"), "true");
  EXPECT_EQ(Text(setting, "off"), "false");
  EXPECT_THAT(Refusal(setting, "maybe"), HasSubstr("b: 'maybe' is neither true nor false"));
}

TEST(SettingTest, Integers) {
  const Setting setting = {.key = "n", .type = SettingType::kInteger, .minimum = 1, .maximum = 9};
  EXPECT_EQ(Text(setting, "9"), "9");
  for (const char* wrong : {"0", "10", "1e1", "", " 1", "0x5", "99999999999999999999"}) {
    EXPECT_THAT(Refusal(setting, wrong), HasSubstr("is no whole number from 1 to 9"));
  }
}

TEST(SettingTest, Spans) {
  const Setting setting = {.key = "d", .type = SettingType::kDuration};
  EXPECT_EQ(Text(setting, "90s"), "1m30s");
  for (const char* wrong : {"-1s", "5", "inf", ""}) {
    EXPECT_THAT(Refusal(setting, wrong), HasSubstr("is no time span"));
  }
}

TEST(SettingTest, ListsAndMaps) {
  const auto list = ParseSetting({.key = "l", .type = SettingType::kList}, "a, b,,c=d");
  ASSERT_THAT(list, IsOk());
  EXPECT_THAT(list->items, ElementsAre("a", "b", "c=d"));
  const Setting map = {.key = "m", .type = SettingType::kMap};
  const auto entries = ParseSetting(map, "z=1,a=x=y");
  ASSERT_THAT(entries, IsOk());
  EXPECT_THAT(entries->entries, ElementsAre(Pair("a", "x=y"), Pair("z", "1")));
  EXPECT_THAT(Refusal(map, "a"), HasSubstr("'a' is no NAME=VALUE"));
  EXPECT_THAT(Refusal(map, "a=1,a=2"), HasSubstr("'a' is given twice"));
}

TEST(SettingTest, ChoicesAndChecks) {
  const Setting level = {.key = "log_level", .choices = "error|info"};
  EXPECT_EQ(Text(level, "info"), "info");
  EXPECT_THAT(Refusal(level, "loud"), HasSubstr("it may be error, info"));
  const Setting paths = {.key = "allow", .type = SettingType::kList, .check = CheckAbsolutePath};
  EXPECT_THAT(Refusal(paths, "/a,b"), HasSubstr("allow: 'b' is no absolute path"));
}

TEST(SettingTest, Addresses) {
  for (const char* right :
       {"a:1", "nas-1.example:7171", "[::1]:7171", "10.0.0.1:0", "unix:/run/x"}) {
    EXPECT_THAT(CheckAddress(right), IsOk()) << right;
  }
  for (const char* wrong : {"", "a", "a:", ":1", "a:70000", "::1:7171", "a b:1", "unix:x", "[]:1",
                            "a:+1", "dns:///a:1", "[::1:1"}) {
    EXPECT_FALSE(CheckAddress(wrong).ok()) << wrong;
  }
}

TEST(SettingTest, HelpHasWhatATableSays) {
  const std::string help = SettingsHelp({{.key = "listen",
                                          .type = SettingType::kList,
                                          .default_value = "a:1",
                                          .help = "where to listen",
                                          .parameter = "ADDRESS"},
                                         {.key = "reflection",
                                          .type = SettingType::kBool,
                                          .default_value = "true",
                                          .help = "describe"}});
  EXPECT_THAT(
      help,
      HasSubstr("  --listen ADDRESS         where to listen; may be repeated; default a:1\n"));
  EXPECT_THAT(help, HasSubstr("--no-reflection"));
}

}  // namespace
}  // namespace onefold
