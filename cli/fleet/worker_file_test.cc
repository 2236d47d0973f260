#include "cli/fleet/worker_file.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

TEST(WorkerFileTest, NewFile) {
  const auto text = UpdateWorkerFile("", {.coordinator = "nas1:7171",
                                          .name = "attic",
                                          .state_directory = "/srv/one fold",
                                          .allow = {"/srv/data", "/srv/a: b"}});
  ASSERT_THAT(text, IsOk());
  EXPECT_EQ(*text,
            "# Configuration of `onefold worker`; `onefold worker --print-config` shows all "
            "settings.\n"
            "coordinator: \"nas1:7171\"\n"
            "name: attic\n"
            "state_directory: \"/srv/one fold\"\n"
            "allow:\n"
            "  - /srv/data\n"
            "  - \"/srv/a: b\"\n");
}

TEST(WorkerFileTest, NothingIsAskedForThatWasNotGiven) {
  const auto text =
      UpdateWorkerFile("", {.coordinator = "c:1", .name = "", .state_directory = "", .allow = {}});
  ASSERT_THAT(text, IsOk());
  EXPECT_THAT(*text, ::testing::EndsWith("\ncoordinator: \"c:1\"\n"));
}

constexpr char kWritten[] = R"(# Ann wrote this.

coordinator: old:7171   # the old one
labels:   # for policies
  place: attic
# Only these:
allow:
- /srv/data   # family

# How loud.
log_level: info
)";

TEST(WorkerFileTest, WhatPeopleWroteStays) {
  const auto text = UpdateWorkerFile(
      kWritten,
      {.coordinator = "new:7171", .name = "nas", .state_directory = "", .allow = {"/srv/more"}});
  ASSERT_THAT(text, IsOk());
  EXPECT_EQ(*text, R"(# Ann wrote this.

coordinator: "new:7171"
labels:   # for policies
  place: attic
# Only these:
allow:
- /srv/data   # family
- /srv/more

# How loud.
log_level: info
name: nas
)");
}

TEST(WorkerFileTest, RepeatingChangesNothing) {
  const WorkerFileSettings settings = {.coordinator = "new:7171",
                                       .name = "nas",
                                       .state_directory = "/var/lib/x",
                                       .allow = {"/srv/more", "/srv/data", "/srv/more"}};
  const auto once = UpdateWorkerFile(kWritten, settings);
  ASSERT_THAT(once, IsOk());
  EXPECT_THAT(UpdateWorkerFile(*once, settings), IsOkAndHolds(*once));
}

TEST(WorkerFileTest, ListsInOtherForms) {
  for (const char* before :
       {"allow: [/srv/data, /srv/b]\nname: n\n", "allow:\n    - /srv/data\n    - /srv/b\nname: n\n",
        "allow: [\n  /srv/data,\n  /srv/b\n]\nname: n\n", "name: n\nallow: [/srv/data, /srv/b]"}) {
    const auto text = UpdateWorkerFile(
        before, {.coordinator = "", .name = "", .state_directory = "", .allow = {"/srv/c"}});
    ASSERT_THAT(text, IsOk()) << before;
    EXPECT_THAT(*text, HasSubstr("- /srv/c\n")) << before;
    EXPECT_THAT(*text, HasSubstr("name: n\n")) << before;
  }
  const auto empty =
      UpdateWorkerFile("allow:\nname: n\n",
                       {.coordinator = "", .name = "", .state_directory = "", .allow = {"/srv/c"}});
  EXPECT_THAT(empty, IsOkAndHolds(std::string("allow:\n  - /srv/c\nname: n\n")));
}

// Better to say what to type than to break a file.
TEST(WorkerFileTest, WhatCannotBeChangedIsLeftAlone) {
  for (const char* before : {"{coordinator: a, name: b}\n"}) {
    const auto text = UpdateWorkerFile(
        before, {.coordinator = "new:1", .name = "", .state_directory = "/x", .allow = {}});
    EXPECT_THAT(text, HasCode(absl::StatusCode::kFailedPrecondition))
        << before << " became " << text.value_or("");
    EXPECT_THAT(std::string(text.status().message()),
                HasSubstr("\ncoordinator: \"new:1\"\nstate_directory: /x"));
  }
  for (const char* before : {"a: [", "- a\n- b\n", "a: 1\n---\nb: 2\n", "a: 1\na: 2\n"}) {
    EXPECT_THAT(
        UpdateWorkerFile(before,
                         {.coordinator = "new:1", .name = "", .state_directory = "", .allow = {}}),
        HasCode(absl::StatusCode::kInvalidArgument))
        << before;
  }
}

TEST(WorkerFileTest, MultilineValueIsReplacedAsAWhole) {
  const auto text =
      UpdateWorkerFile("name: >\n  two\n  lines\n# tail\nlog_level: info\n",
                       {.coordinator = "", .name = "attic", .state_directory = "", .allow = {}});
  ASSERT_THAT(text, IsOk());
  EXPECT_EQ(*text, "name: attic\n# tail\nlog_level: info\n");
}

TEST(WorkerFileTest, StateDirectory) {
  EXPECT_THAT(StateDirectoryOf(""), IsOkAndHolds(std::string()));
  EXPECT_THAT(StateDirectoryOf("state_directory: /srv/x\n"), IsOkAndHolds(std::string("/srv/x")));
}

}  // namespace
}  // namespace onefold
