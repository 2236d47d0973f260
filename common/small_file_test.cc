#include "common/small_file.h"

#include <filesystem>

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(SmallFileTest, IsReplacedAsAWhole) {
  const TempDir directory;
  const std::string path = directory.path() + "/file";
  EXPECT_THAT(ReadSmallFile(path, 10), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(WriteSmallFile(path, "first"), IsOk());
  EXPECT_THAT(WriteSmallFile(path, std::string("sec\0nd", 6)), IsOk());
  EXPECT_EQ(*ReadSmallFile(path, 6), std::string("sec\0nd", 6));
  EXPECT_THAT(ReadSmallFile(path, 5), HasCode(absl::StatusCode::kOutOfRange));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT(RemoveSmallFile(path), IsOk());
  EXPECT_THAT(RemoveSmallFile(path), IsOk());
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace onefold
