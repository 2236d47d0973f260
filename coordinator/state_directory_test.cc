#include "coordinator/state_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

using ::testing::HasSubstr;

class StateDirectoryTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.path() + "/made/index"; }
  void Make() {
    ASSERT_THAT(MakeStateDirectory(directory_.path() + "/made"), IsOk());
    ASSERT_THAT(MakeDatabaseDirectory(path(), "index", 1), IsOk());
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(path() + "/" + name) << text;
  }
  absl::Status Check() { return CheckDatabaseDirectory(path(), "index", 1); }

  TempDir directory_;
};

TEST_F(StateDirectoryTest, DirectoriesAreForTheOwnerAlone) {
  Make();
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((directory_.path() + "/made").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(StateDirectoryTest, OursMayBeOpenedAgain) {
  EXPECT_THAT(Check(), IsOk());  // absent
  Make();
  Write("000004.sst", "data");
  EXPECT_THAT(Check(), IsOk());
  Make();
  EXPECT_THAT(Check(), IsOk());
}

// Somebody's files must never be taken for ours, let alone deleted.
TEST_F(StateDirectoryTest, ForeignIsRefused) {
  std::filesystem::create_directories(path());
  Write("photo.jpg", "picture");
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kFailedPrecondition));
  Write("ONEFOLD_FORMAT", "something else entirely");
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kFailedPrecondition));
  Write("ONEFOLD_FORMAT", "onefold state 1\n");
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(std::filesystem::file_size(path() + "/photo.jpg"), 7u);
}

// `--state /etc` must not leave our files among those of somebody else.
TEST_F(StateDirectoryTest, DirectoryThatIsUsedForSomethingElseIsRefused) {
  std::ofstream(directory_.path() + "/passwd") << "root";
  EXPECT_THAT(MakeStateDirectory(directory_.path()),
              HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StateDirectoryTest, FileInItsPlaceIsRefused) {
  std::filesystem::create_directories(directory_.path() + "/made");
  std::ofstream(path()) << "text";
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(MakeStateDirectory(path()), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StateDirectoryTest, NewerFormatIsRefusedWithWhatToDo) {
  Make();
  Write("ONEFOLD_FORMAT", "onefold index 2\n");
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(Check().message()), HasSubstr("newer"));
}

// A crash while the first file was made must not turn the directory into a foreign one.
TEST_F(StateDirectoryTest, UnfinishedFormatFileIsNoObstacle) {
  std::filesystem::create_directories(path());
  Write("ONEFOLD_FORMAT.new", "onef");
  EXPECT_THAT(Check(), IsOk());
  Make();
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(StateDirectoryTest, SecondLockNamesTheHolder) {
  auto lock = DirectoryLock::Take(directory_.path());
  ASSERT_THAT(lock, IsOk());
  const auto second = DirectoryLock::Take(directory_.path());
  EXPECT_THAT(second, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("is in use by process ", getpid())));
  { const DirectoryLock released = *std::move(lock); }
  EXPECT_THAT(DirectoryLock::Take(directory_.path()), IsOk());
}

// A power cut may tear the small file as well.
TEST_F(StateDirectoryTest, TornFormatFileOfOursIsDamage) {
  Make();
  Write("CURRENT", "MANIFEST-000004\n");
  Write("ONEFOLD_FORMAT", std::string(16, '\0'));
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kDataLoss));
  Write("ONEFOLD_FORMAT", "");
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kDataLoss));
  Write("ONEFOLD_FORMAT", "onefold state 1\n");
  EXPECT_THAT(Check(), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StateDirectoryTest, PutAsideKeepsTheNewestAlone) {
  const absl::Time now =
      absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone());
  const std::string first = path() + ".damaged-20260102T030405Z";
  std::filesystem::create_directories(path() + ".damaged-by-hand");  // not ours
  Make();
  EXPECT_THAT(PutAside(path(), now), IsOkAndHolds(first));
  Make();
  EXPECT_THAT(PutAside(path(), now), IsOkAndHolds(first + "-2"));
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_TRUE(std::filesystem::exists(first + "-2"));
  EXPECT_TRUE(std::filesystem::exists(path() + ".damaged-by-hand"));
}

}  // namespace
}  // namespace onefold::index
