#include "cli/open_files.h"

#include <string>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

TEST(OpenFilesTest, LimitIsRaisedAsFarAsAllowed) {
  EXPECT_EQ(Raised({.rlim_cur = 1024, .rlim_max = 4096}).rlim_cur, 4096u);
  EXPECT_EQ(Raised({.rlim_cur = 20, .rlim_max = RLIM_INFINITY}).rlim_cur, kOpenFilesWanted);
  EXPECT_EQ(Raised({.rlim_cur = 20, .rlim_max = 20}).rlim_cur, 20u);
}

TEST(OpenFilesTest, LimitIsNeverLowered) {
  EXPECT_EQ(Raised({.rlim_cur = 1 << 20, .rlim_max = 1 << 21}).rlim_cur, rlim_t{1} << 20);
  EXPECT_EQ(Raised({.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY}).rlim_cur, RLIM_INFINITY);
  EXPECT_EQ(Raised({.rlim_cur = 20, .rlim_max = RLIM_INFINITY}).rlim_max, RLIM_INFINITY);
}

// A run would fail in the middle, or a library abort the process.
TEST(OpenFilesTest, TooFewAreRefusedWithWhatToType) {
  EXPECT_THAT(CheckOpenFiles({.rlim_cur = kOpenFilesMin, .rlim_max = kOpenFilesMin}), IsOk());
  const absl::Status refused = CheckOpenFiles({.rlim_cur = 20, .rlim_max = 20});
  EXPECT_THAT(refused, HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("only 20 files"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ulimit -n"));
}

}  // namespace
}  // namespace onefold
