#include "worker/open_below.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "common/testing/temp_dir.h"

namespace onefold {
namespace {

class OpenBelowTest : public ::testing::Test {
 protected:
  OpenBelowTest() : top_(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    mkdir((folder_.path() + "/a").c_str(), 0700);
    mkdir((folder_.path() + "/a/b").c_str(), 0700);
    std::ofstream(folder_.path() + "/a/b/file") << "x";
    std::ofstream(folder_.path() + "/file") << "x";
  }
  // 0 or errno.
  int Try(const std::string& path) {
    return OpenBelow(top_.get(), path, O_RDONLY).get() >= 0 ? 0 : errno;
  }

  TempDir folder_;
  Fd top_;
};

TEST_F(OpenBelowTest, FilesAndDirectories) {
  EXPECT_EQ(Try(""), 0);
  EXPECT_EQ(Try("a/b"), 0);
  EXPECT_EQ(Try("a/b/file"), 0);
  EXPECT_EQ(Try("a/c"), ENOENT);
}

// Whoever may write there could lead a program of root anywhere.
TEST_F(OpenBelowTest, NoSymlinkIsFollowed) {
  ASSERT_EQ(symlink("/etc", (folder_.path() + "/etc").c_str()), 0);
  ASSERT_EQ(symlink("a", (folder_.path() + "/same").c_str()), 0);
  ASSERT_EQ(symlink("file", (folder_.path() + "/a/b/last").c_str()), 0);
  for (const char* path : {"etc", "etc/passwd", "same/b/file", "a/b/last"}) {
    EXPECT_NE(Try(path), 0) << path;
  }
}

TEST_F(OpenBelowTest, NothingAbove) {
  const Fd below(open((folder_.path() + "/a").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_LT(OpenBelow(below.get(), "../file", O_RDONLY).get(), 0);
  EXPECT_LT(OpenBelow(below.get(), "/etc/passwd", O_RDONLY).get(), 0);
}

// Longer than any path that the kernel takes.
TEST_F(OpenBelowTest, DeepDirectories) {
  std::string path;
  Fd at(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'd');
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0700), 0);
    at = Fd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    path += name + "/";
  }
  ASSERT_GE(Fd(openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).get(), 0);
  EXPECT_EQ(Try(path + "file"), 0);
  EXPECT_EQ(Try(path + "none"), ENOENT);
}

}  // namespace
}  // namespace onefold
