#include "coordinator/coordinator.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Coordinator>> Open() {
    return Coordinator::Open({.state_directory = path()}, clock_);
  }
  std::string path() const { return directory_.path() + "/deep/state"; }

  // Name and size of everything below the state directory.
  std::vector<std::string> Listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      names.push_back(absl::StrCat(entry.path().string(), " ",
                                   entry.is_regular_file() ? entry.file_size() : 0));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TempDir directory_;
  FakeClock clock_;
};

TEST_F(CoordinatorTest, RecordsSurviveARestart) {
  {
    const auto coordinator = Open();
    ASSERT_THAT(coordinator, IsOk());
    EXPECT_THAT((*coordinator)->GetRecord("run/2"), IsOkAndHolds(std::nullopt));
    EXPECT_THAT((*coordinator)->PutRecord("run/2", std::string("b\0", 2)), IsOk());
    EXPECT_THAT((*coordinator)->PutRecord("run/1", "a"), IsOk());
    EXPECT_THAT((*coordinator)->PutRecord("roots", "r"), IsOk());
  }
  const auto coordinator = Open();
  ASSERT_THAT(coordinator, IsOk());
  EXPECT_THAT((*coordinator)->warnings(), IsEmpty());
  EXPECT_THAT((*coordinator)->GetRecord("run/2"),
              IsOkAndHolds(std::optional<std::string>(std::string("b\0", 2))));
  EXPECT_THAT((*coordinator)->ListRecords("run/"), IsOkAndHolds(ElementsAre("run/1", "run/2")));
}

// Two programs writing one index would ruin it; whoever waits wants to know for whom.
TEST_F(CoordinatorTest, SecondOneIsToldWhoHoldsTheDirectory) {
  const auto first = Open();
  ASSERT_THAT(first, IsOk());
  const auto second = Open();
  EXPECT_THAT(second, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("in use by process ", getpid())));
}

TEST_F(CoordinatorTest, EverythingIsForTheOwnerAlone) {
  const auto coordinator = Open();
  ASSERT_THAT(coordinator, IsOk());
  EXPECT_THAT((*coordinator)->PutRecord("roots", "r"), IsOk());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
    struct stat status;
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << entry.path();
  }
}

TEST_F(CoordinatorTest, ForeignDirectoryIsLeftAlone) {
  std::filesystem::create_directories(path() + "/index");
  std::ofstream(path() + "/index/mail.db") << "somebody's mail";
  const auto before = Listing();
  const auto refused = Open();
  EXPECT_THAT(refused, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(path() + "/index"));
  EXPECT_EQ(Listing(), before);
}

TEST_F(CoordinatorTest, NewerFormatIsLeftAlone) {
  ASSERT_THAT(Open(), IsOk());
  std::ofstream(path() + "/index/ONEFOLD_FORMAT") << "onefold index 99\n";
  const auto before = Listing();
  const auto refused = Open();
  EXPECT_THAT(refused, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("newer"));
  EXPECT_EQ(Listing(), before);
}

// The index is soft: losing it costs a scan, not the run. What is in `state` stays.
TEST_F(CoordinatorTest, DamagedIndexIsPutAsideAndRebuilt) {
  {
    const auto coordinator = Open();
    ASSERT_THAT(coordinator, IsOk());
    EXPECT_THAT((*coordinator)->PutRecord("roots", "r"), IsOk());
  }
  std::filesystem::resize_file(path() + "/index/CURRENT", 0);
  const auto coordinator = Open();
  ASSERT_THAT(coordinator, IsOk());
  const std::string aside = path() + "/index.damaged-20010909T014640Z";
  EXPECT_TRUE(std::filesystem::exists(aside + "/CURRENT"));
  EXPECT_THAT((*coordinator)->warnings(), ElementsAre(HasSubstr(aside)));
  EXPECT_THAT((*coordinator)->GetRecord("roots"), IsOkAndHolds(std::optional<std::string>("r")));
}

// What cannot be built again must not be thrown away.
TEST_F(CoordinatorTest, DamagedStateIsRefusedWithWhatToDo) {
  ASSERT_THAT(Open(), IsOk());
  std::filesystem::resize_file(path() + "/state/CURRENT", 0);
  const auto refused = Open();
  EXPECT_THAT(refused, HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("move"));
}

// A database without its log opens as an older one: the next run would silently do what an earlier
// run was asked for.
class CoordinatorLostLogTest : public CoordinatorTest,
                               public ::testing::WithParamInterface<void (*)(const std::string&)> {
};

INSTANTIATE_TEST_SUITE_P(
    Ways, CoordinatorLostLogTest,
    ::testing::Values([](const std::string& log) { std::filesystem::remove(log); },
                      [](const std::string& log) { std::filesystem::resize_file(log, 0); },
                      [](const std::string& log) {
                        std::ofstream(log) << std::string(300, '\xa5');
                      },
                      [](const std::string& log) {  // the last record
                        std::filesystem::resize_file(log, std::filesystem::file_size(log) - 10);
                      }));

TEST_P(CoordinatorLostLogTest, IsRefusedAndNothingIsChanged) {
  for (const char* roots : {"early", "late"}) {
    const auto coordinator = Open();
    ASSERT_THAT(coordinator, IsOk());
    EXPECT_THAT((*coordinator)->PutRecord("roots", roots), IsOk());
  }
  std::vector<std::string> logs;
  for (const auto& entry : std::filesystem::directory_iterator(path() + "/state")) {
    if (entry.path().extension() == ".log") logs.push_back(entry.path());
  }
  ASSERT_EQ(logs.size(), 1u) << "each of several could get lost unnoticed";
  GetParam()(logs[0]);
  const auto before = Listing();
  for (int i = 0; i < 2; ++i) {
    const auto refused = Open();
    EXPECT_THAT(refused, HasCode(absl::StatusCode::kDataLoss));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("move"));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(".log"));
  }
  EXPECT_EQ(Listing(), before);
}

// A copy of a running one has no note of its own, and begins one.
TEST_F(CoordinatorTest, CheckpointOpensAndIsWatchedFromThenOn) {
  const std::string copy = directory_.path() + "/deep/copy";
  {
    const auto coordinator = Open();
    ASSERT_THAT(coordinator, IsOk());
    EXPECT_THAT((*coordinator)->PutRecord("roots", "r"), IsOk());
    std::filesystem::create_directory(copy);
    ASSERT_THAT((*coordinator)->CheckpointState(copy + "/state"), IsOk());
  }
  EXPECT_FALSE(std::filesystem::exists(copy + "/state/ONEFOLD_SEQUENCE"));
  const auto coordinator = Coordinator::Open({.state_directory = copy}, clock_);
  ASSERT_THAT(coordinator, IsOk());
  EXPECT_THAT((*coordinator)->GetRecord("roots"), IsOkAndHolds(std::optional<std::string>("r")));
  EXPECT_TRUE(std::filesystem::exists(copy + "/state/ONEFOLD_SEQUENCE"));
}

}  // namespace
}  // namespace onefold
