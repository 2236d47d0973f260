#include "cli/fleet/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(TextFileTest, MadeAndReplaced) {
  const TempDir temp;
  const std::string path = temp.path() + "/etc/onefold/worker.yaml";
  EXPECT_THAT(ReadTextFile(path), IsOkAndHolds(std::string()));
  ASSERT_THAT(ReplaceTextFile(path, "one\n"), IsOk());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_THAT(ReplaceTextFile(path, "two\n"), IsOk());
  EXPECT_THAT(ReadTextFile(path), IsOkAndHolds(std::string("two\n")));
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST(TextFileTest, LinksStayLinks) {
  const TempDir temp;
  const std::string link = temp.path() + "/worker.yaml";
  ASSERT_THAT(ReplaceTextFile(temp.path() + "/real.yaml", "old\n"), IsOk());
  ASSERT_EQ(symlink("real.yaml", link.c_str()), 0);
  ASSERT_THAT(ReplaceTextFile(link, "text\n"), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(ReadTextFile(temp.path() + "/real.yaml"), IsOkAndHolds(std::string("text\n")));
}

TEST(TextFileTest, OtherThingsAreRefused) {
  const TempDir temp;
  EXPECT_THAT(ReadTextFile(temp.path()), HasCode(absl::StatusCode::kFailedPrecondition));
  const std::string fifo = temp.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(ReadTextFile(fifo), HasCode(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace onefold
