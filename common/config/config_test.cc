#include "common/config/config.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::vector<Setting> kTable = {
    {.key = "listen", .type = SettingType::kList, .default_value = "0.0.0.0:7171"},
    {.key = "state_directory", .default_value = "/var/lib/x", .check = CheckAbsolutePath},
    {.key = "insecure", .type = SettingType::kBool, .default_value = "false"},
    {.key = "runs_at_once", .type = SettingType::kInteger, .default_value = "4", .minimum = 1},
    {.key = "labels", .type = SettingType::kMap},
    {.key = "delay", .type = SettingType::kDuration, .default_value = "1m"},
};

ConfigSources File(const std::string& text) { return {.file_name = "c.yaml", .file_text = text}; }

Config Loaded(const ConfigSources& sources) {
  absl::StatusOr<Config> config = Config::Load(kTable, sources);
  EXPECT_THAT(config, IsOk());
  return config.ok() ? *std::move(config) : *Config::Load(kTable, {});
}

std::string Refusal(const ConfigSources& sources) {
  const absl::StatusOr<Config> config = Config::Load(kTable, sources);
  EXPECT_THAT(config, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(config.status().message());
}

TEST(ConfigTest, Defaults) {
  const Config config = Loaded({});
  EXPECT_THAT(config.List("listen"), ElementsAre("0.0.0.0:7171"));
  EXPECT_EQ(config.Text("state_directory"), "/var/lib/x");
  EXPECT_FALSE(config.Bool("insecure"));
  EXPECT_EQ(config.Integer("runs_at_once"), 4);
  EXPECT_EQ(config.Span("delay"), absl::Minutes(1));
  EXPECT_THAT(config.Map("labels"), IsEmpty());
  EXPECT_EQ(config.Origin("listen"), "default");
  EXPECT_FALSE(config.IsSet("listen"));
}

TEST(ConfigTest, EveryLayerCoversTheOnesBelow) {
  ConfigSources sources =
      File("# comment\nruns_at_once: 5\nstate_directory: /file\nlisten: [a:1, b:2]\n");
  EXPECT_EQ(Loaded(sources).Integer("runs_at_once"), 5);
  EXPECT_EQ(Loaded(sources).Origin("runs_at_once"), "c.yaml:2");
  sources.variables = {"HOME=/root", "ONEFOLD_RUNS_AT_ONCE=6", "ONEFOLD_STATE_DIRECTORY=/env"};
  EXPECT_EQ(Loaded(sources).Integer("runs_at_once"), 6);
  EXPECT_EQ(Loaded(sources).Origin("runs_at_once"), "ONEFOLD_RUNS_AT_ONCE");
  sources.arguments = {"--runs-at-once=7", "--listen", "c:3", "--listen=d:4", "--insecure"};
  const Config config = Loaded(sources);
  EXPECT_EQ(config.Integer("runs_at_once"), 7);
  EXPECT_EQ(config.Origin("runs_at_once"), "--runs-at-once");
  EXPECT_THAT(config.List("listen"), ElementsAre("c:3", "d:4"));
  EXPECT_EQ(config.Text("state_directory"), "/env");
  EXPECT_TRUE(config.Bool("insecure"));
}

// A variable that people set for their commands must not send a configured worker elsewhere, nor
// stop it; but alone it is good enough.
TEST(ConfigTest, LastVariableCountsOnlyWhereNothingElseDoes) {
  const std::vector<Setting> table = {{.key = "coordinator",
                                       .check = CheckAddressOrEmpty,
                                       .variable = "ONEFOLD_WORKER_COORDINATOR",
                                       .last_variable = "ONEFOLD_COORDINATOR"}};
  ConfigSources sources = {.variables = {"ONEFOLD_COORDINATOR=people:1"}};
  EXPECT_EQ(Config::Load(table, sources)->Text("coordinator"), "people:1");
  EXPECT_EQ(Config::Load(table, sources)->Origin("coordinator"), "ONEFOLD_COORDINATOR");
  EXPECT_THAT(UnknownVariableWarnings(sources.variables, table), IsEmpty());
  sources.file_name = "c.yaml";
  sources.file_text = "coordinator: file:1";
  sources.variables = {"ONEFOLD_COORDINATOR=not an address"};
  EXPECT_EQ(Config::Load(table, sources)->Text("coordinator"), "file:1");
  sources.variables.push_back("ONEFOLD_WORKER_COORDINATOR=worker:1");
  EXPECT_EQ(Config::Load(table, sources)->Text("coordinator"), "worker:1");
}

TEST(ConfigTest, FlagsOfAllKinds) {
  const Config config = Loaded({.file_name = "c.yaml",
                                .file_text = "insecure: true",
                                .arguments = {"--no-insecure", "--labels", "a=1", "--labels=b=2",
                                              "--runs-at-once", "1", "--runs-at-once", "2"}});
  EXPECT_FALSE(config.Bool("insecure"));
  EXPECT_THAT(config.Map("labels"), ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_EQ(config.Integer("runs_at_once"), 2);
}

TEST(ConfigTest, UnknownKeysAreErrorsWithLineAndSuggestion) {
  EXPECT_THAT(Refusal(File("\nlitsen: [a:1]\n")),
              HasSubstr("c.yaml:2: there is no setting 'litsen'; did you mean 'listen'?"));
  EXPECT_THAT(Refusal(File("colour: red\n")), HasSubstr("there is no setting 'colour'"));
  EXPECT_THAT(Refusal({.arguments = {"--insecrue"}}),
              HasSubstr("there is no option --insecrue; did you mean '--insecure'?"));
  EXPECT_THAT(Refusal({.arguments = {"start"}}), HasSubstr("nothing to be done with 'start'"));
}

TEST(ConfigTest, WrongValuesAreErrorsWithTheirPlace) {
  EXPECT_THAT(Refusal(File("runs_at_once: many\n")),
              HasSubstr("c.yaml:1: runs_at_once: 'many' is no"));
  EXPECT_THAT(Refusal(File("state_directory: x\n")), HasSubstr("is no absolute path"));
  EXPECT_THAT(Refusal(File("state_directory:\n")), HasSubstr("the value is missing"));
  EXPECT_THAT(Refusal(File("listen: {a: b}\n")), HasSubstr("must not be a map"));
  EXPECT_THAT(Refusal(File("listen:\n- [a]\n")),
              HasSubstr("listen (line 2): an item must be a word"));
  EXPECT_THAT(Refusal(File("delay: [1s]\n")), HasSubstr("must not be a list"));
  EXPECT_THAT(Refusal(File("labels: x\n")), HasSubstr("must be a map"));
  EXPECT_THAT(Refusal(File("a: 1\na: 2\n")), HasSubstr("c.yaml:2: a: is given twice"));
  EXPECT_THAT(Refusal(File("listen: [a:1\n")), HasSubstr("c.yaml:"));
  EXPECT_THAT(Refusal(File("- a\n")), HasSubstr("c.yaml:1: lines must be 'key: value'"));
  EXPECT_THAT(Refusal(File("a: 1\n---\nb: 2\n")), HasSubstr("more than one document"));
  EXPECT_THAT(Refusal({.variables = {"ONEFOLD_INSECURE=perhaps"}}),
              HasSubstr("ONEFOLD_INSECURE: insecure: 'perhaps'"));
  EXPECT_THAT(Refusal({.arguments = {"--delay"}}), HasSubstr("--delay: the value is missing"));
  EXPECT_THAT(Refusal({.arguments = {"--no-insecure=1"}}), HasSubstr("takes no value"));
}

// Mending a file must not be a game of one error at a time.
TEST(ConfigTest, AllErrorsAreTold) {
  const std::string refusal = Refusal(File("x: 1\nruns_at_once: 0\ny: 2\n"));
  EXPECT_THAT(refusal, HasSubstr("c.yaml:1:"));
  EXPECT_THAT(refusal, HasSubstr("c.yaml:2:"));
  EXPECT_THAT(refusal, HasSubstr("c.yaml:3:"));
}

TEST(ConfigTest, EmptyAndCommentedFilesSayNothing) {
  EXPECT_FALSE(Loaded(File("")).IsSet("listen"));
  EXPECT_FALSE(Loaded(File("# listen: [a:1]\n")).IsSet("listen"));
}

TEST(ConfigTest, PrintIsAFileWithTheSameValues) {
  const Config config = Loaded({.file_name = "c.yaml",
                                .file_text = "labels: {a: 'x: y'}\ndelay: 90s\nlisten: []\n",
                                .arguments = {"--insecure"}});
  const std::string printed = config.Print();
  EXPECT_THAT(printed, HasSubstr("labels: {a: \"x: y\"}"));
  EXPECT_THAT(printed, HasSubstr("# c.yaml:2\n"));
  EXPECT_THAT(printed, HasSubstr("# --insecure\n"));
  EXPECT_THAT(printed, HasSubstr("# default\n"));
  const Config again = Loaded(File(printed));
  EXPECT_EQ(again.Map("labels"), config.Map("labels"));
  EXPECT_EQ(again.Span("delay"), config.Span("delay"));
  EXPECT_THAT(again.List("listen"), IsEmpty());
  EXPECT_TRUE(again.Bool("insecure"));
}

TEST(ConfigTest, CommonFlagsAreTakenOut) {
  const auto split =
      SplitConfigArguments({"--config", "f", "--insecure", "--check-config", "--print-config"});
  ASSERT_THAT(split, IsOk());
  EXPECT_EQ(split->file, "f");
  EXPECT_TRUE(split->check && split->print);
  EXPECT_THAT(split->rest, ElementsAre("--insecure"));
  EXPECT_EQ(SplitConfigArguments({"--config=g"})->file, "g");
  EXPECT_FALSE(SplitConfigArguments({"--config"}).ok());
  EXPECT_FALSE(SplitConfigArguments({"--config="}).ok());
}

TEST(ConfigTest, OnlyVariablesOfNobodyAreWarnedOf) {
  EXPECT_THAT(
      UnknownVariableWarnings({"PATH=/bin", "ONEFOLD_LISTEN=a:1", "ONEFOLD_BIN=x", "ONEFOLD_SEED=1",
                               "ONEFOLD_SANITIZE=", "ONEFOLD_SOURCE_DIR=/src"},
                              kTable),
      IsEmpty());
  EXPECT_THAT(
      UnknownVariableWarnings({"ONEFOLD_LISTNE=a:1"}, kTable),
      ElementsAre(
          "the variable ONEFOLD_LISTNE belongs to no setting; did you mean 'ONEFOLD_LISTEN'?"));
}

}  // namespace
}  // namespace onefold
