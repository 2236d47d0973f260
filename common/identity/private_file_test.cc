#include "common/identity/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

using ::testing::Optional;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  stat(path.c_str(), &info);
  return info.st_mode & 07777;
}

class PrivateFileTest : public ::testing::Test {
 protected:
  TempDir directory_;
  const std::string path_ = directory_.path() + "/key";
};

TEST_F(PrivateFileTest, IsPrivateWhateverTheUmask) {
  const mode_t before = umask(0);
  EXPECT_THAT(WritePrivateFile(path_, "secret"), IsOk());
  umask(before);
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_THAT(ReadPrivateFile(path_), IsOkAndHolds(Optional(std::string("secret"))));
}

TEST_F(PrivateFileTest, AbsentIsNoError) {
  EXPECT_THAT(ReadPrivateFile(path_), IsOkAndHolds(::testing::Eq(std::nullopt)));
}

TEST_F(PrivateFileTest, ReplacesAndLeavesNothingBehind) {
  // An attempt that was cut off, readable by everybody.
  std::ofstream(path_ + ".new") << "half";
  chmod((path_ + ".new").c_str(), 0644);
  ASSERT_THAT(WritePrivateFile(path_, "one"), IsOk());
  ASSERT_THAT(WritePrivateFile(path_, "two"), IsOk());
  EXPECT_THAT(ReadPrivateFile(path_), IsOkAndHolds(Optional(std::string("two"))));
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

// A planted link must not make us write a key elsewhere, nor read one from elsewhere.
TEST_F(PrivateFileTest, LinksAreNotFollowed) {
  const std::string elsewhere = directory_.path() + "/elsewhere";
  ASSERT_EQ(symlink(elsewhere.c_str(), (path_ + ".new").c_str()), 0);
  ASSERT_THAT(WritePrivateFile(path_, "secret"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(elsewhere));

  ASSERT_THAT(WritePrivateFile(elsewhere, "other"), IsOk());
  std::filesystem::remove(path_);
  ASSERT_EQ(symlink(elsewhere.c_str(), path_.c_str()), 0);
  EXPECT_THAT(ReadPrivateFile(path_), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(PrivateFileTest, WhatOthersMayReadIsRefused) {
  ASSERT_THAT(WritePrivateFile(path_, "secret"), IsOk());
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    chmod(path_.c_str(), mode);
    EXPECT_THAT(ReadPrivateFile(path_), HasCode(absl::StatusCode::kFailedPrecondition)) << mode;
  }
}

TEST_F(PrivateFileTest, OtherThingsAreRefused) {
  EXPECT_THAT(ReadPrivateFile(directory_.path()), HasCode(absl::StatusCode::kFailedPrecondition));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // must not wait for a writer either
  EXPECT_THAT(ReadPrivateFile(path_), HasCode(absl::StatusCode::kFailedPrecondition));
  std::filesystem::remove(path_);
  ASSERT_THAT(WritePrivateFile(path_, std::string(kPrivateFileBytesMax + 1, 'x')), IsOk());
  EXPECT_THAT(ReadPrivateFile(path_), HasCode(absl::StatusCode::kFailedPrecondition));
}

// Root joins a fleet for a worker that runs as somebody else.
TEST_F(PrivateFileTest, BelongsToWhomTheDirectoryBelongs) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chown(directory_.path().c_str(), 1234, 1234), 0);
  ASSERT_THAT(WritePrivateFile(path_, "secret"), IsOk());
  struct stat info = {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234u);
  EXPECT_EQ(info.st_gid, 1234u);
}

TEST_F(PrivateFileTest, Directory) {
  const std::string deep = directory_.path() + "/a/b";
  ASSERT_THAT(MakePrivateDirectory(deep), IsOk());
  ASSERT_THAT(MakePrivateDirectory(deep), IsOk());
  EXPECT_EQ(ModeOf(deep), 0700u);
  chmod(deep.c_str(), 0770);
  EXPECT_THAT(MakePrivateDirectory(deep), HasCode(absl::StatusCode::kFailedPrecondition));
  std::ofstream(path_) << "file";
  EXPECT_THAT(MakePrivateDirectory(path_), HasCode(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace onefold::identity
