#include "worker/tree_walk.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class TreeWalkTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, size_t bytes = 1) {
    const std::filesystem::path path = folder_.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }
  void AddRoot(const std::string& name, const std::string& file = "") {
    const std::string path = name.empty() ? folder_.path() : folder_.path() + "/" + name;
    WalkRoot root;
    root.path = file.empty() ? path : path + "/" + file;
    root.directory = Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    root.file = file;
    roots_.push_back(std::move(root));
  }
  // Paths below their roots.
  std::vector<std::string> Walk(const std::vector<std::string>& excludes = {}) {
    if (roots_.empty()) AddRoot("");
    const auto list = ExcludeList::Parse(excludes);
    const auto found = TreeWalk(roots_, *list, limits_, stop_, [&](Problem problem) {
                         problems_.push_back(problem.path);
                       }).Run();
    EXPECT_THAT(found, IsOk());
    std::vector<std::string> paths;
    for (const WalkFile& file : found->files()) paths.push_back(found->PathOf(file));
    return paths;
  }

  TempDir folder_;
  std::vector<WalkRoot> roots_;
  FileLimits limits_;
  StopSignal stop_;
  std::vector<std::string> problems_;
};

TEST_F(TreeWalkTest, RegularFilesAtAnyDepth) {
  Write("a");
  Write("b/c/d");
  Write("b/empty", 0);
  ASSERT_EQ(symlink("a", (folder_.path() + "/link").c_str()), 0);
  ASSERT_EQ(symlink(".", (folder_.path() + "/loop").c_str()), 0);
  ASSERT_EQ(mkfifo((folder_.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_THAT(Walk(), UnorderedElementsAre("a", "b/c/d"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(TreeWalkTest, AFileOfSeveralNamesIsOne) {
  Write("a");
  std::filesystem::create_hard_link(folder_.path() + "/a", folder_.path() + "/b");
  EXPECT_EQ(Walk().size(), 1u);
}

// A file is excluded only if all of its names are.
TEST_F(TreeWalkTest, Excludes) {
  Write("a.iso");
  Write("keep");
  Write("skip/b");
  Write("x/skip");
  Write("y/also");
  std::filesystem::create_hard_link(folder_.path() + "/keep", folder_.path() + "/keep.iso");
  EXPECT_THAT(Walk({"*.iso", "skip/", folder_.path() + "/y"}),
              UnorderedElementsAre("keep", "x/skip"));
}

TEST_F(TreeWalkTest, Sizes) {
  Write("small", 10);
  Write("middle", 100);
  Write("large", 1000);
  limits_ = {.min_file_bytes = 50, .max_file_bytes = 500};
  EXPECT_THAT(Walk(), ElementsAre("middle"));
}

TEST_F(TreeWalkTest, RootsThatAreFiles) {
  Write("d/a");
  Write("e/b");
  Write("e/c");
  AddRoot("d");
  AddRoot("e", "b");
  EXPECT_THAT(Walk(), UnorderedElementsAre("a", "b"));
}

TEST_F(TreeWalkTest, WhatMayNotBeReadIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Write("shut/a");
  Write("b");
  std::filesystem::permissions(folder_.path() + "/shut", std::filesystem::perms::none);
  EXPECT_THAT(Walk(), ElementsAre("b"));
  EXPECT_THAT(problems_, ElementsAre(folder_.path() + "/shut"));
  std::filesystem::permissions(folder_.path() + "/shut", std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace onefold
