#include "coordinator/disk_space.h"

#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

using ::testing::HasSubstr;

TEST(DiskSpaceTest, RefusesBelowTheMinimum) {
  TempDir dir;
  EXPECT_THAT(CheckFreeSpace(dir.path(), 0), IsOk());
  EXPECT_THAT(CheckFreeSpace(dir.path(), 1), IsOk());
  const absl::Status status = CheckFreeSpace(dir.path(), int64_t{1} << 62);
  EXPECT_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(std::string(status.message()), HasSubstr(dir.path()));
}

TEST(DiskSpaceTest, WhatCannotBeToldIsNotRefused) {
  EXPECT_THAT(CheckFreeSpace("/nowhere/at/all", int64_t{1} << 62), IsOk());
}

}  // namespace
}  // namespace onefold::index
