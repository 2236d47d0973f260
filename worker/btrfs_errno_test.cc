#include "worker/btrfs_errno.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The code decides what the caller does next: skip, retry, stop, alarm.
TEST(BtrfsErrnoTest, CodeIsChosenForTheCallersNextStep) {
  const std::vector<std::pair<int, absl::StatusCode>> table = {
      {ENOENT, absl::StatusCode::kNotFound},
      {ESTALE, absl::StatusCode::kNotFound},  // a subvolume that is being deleted
      {EIO, absl::StatusCode::kDataLoss},
      {EUCLEAN, absl::StatusCode::kDataLoss},
      {EROFS, absl::StatusCode::kFailedPrecondition},
      {ETXTBSY, absl::StatusCode::kFailedPrecondition},
      {EPERM, absl::StatusCode::kPermissionDenied},
      {EACCES, absl::StatusCode::kPermissionDenied},
      {EAGAIN, absl::StatusCode::kUnavailable},
      {EBUSY, absl::StatusCode::kUnavailable},
      {EINTR, absl::StatusCode::kUnavailable},
      {ENOSPC, absl::StatusCode::kResourceExhausted},
      {EDQUOT, absl::StatusCode::kResourceExhausted},
      {ENOMEM, absl::StatusCode::kResourceExhausted},
      {EMFILE, absl::StatusCode::kResourceExhausted},
      {ENFILE, absl::StatusCode::kResourceExhausted},
      {ENOTTY, absl::StatusCode::kUnimplemented},
      {EOPNOTSUPP, absl::StatusCode::kUnimplemented},
      {ENOSYS, absl::StatusCode::kUnimplemented},
      {EINVAL, absl::StatusCode::kInvalidArgument},
      {EOVERFLOW, absl::StatusCode::kInvalidArgument},
  };
  for (const auto& [error, code] : table) {
    EXPECT_THAT(StatusFromErrno(error, "x"), HasCode(code)) << error;
  }
}

// A limit that somebody has set and can raise; the other exhausted things are none.
TEST(BtrfsErrnoTest, TooManyOpenFilesAreTold) {
  for (const int error : {EMFILE, ENFILE}) {
    EXPECT_TRUE(IsTooManyOpenFiles(Annotate(StatusFromErrno(error, "x"), "opening"))) << error;
  }
  for (const int error : {ENOMEM, ENOSPC, EDQUOT, EIO}) {
    EXPECT_FALSE(IsTooManyOpenFiles(StatusFromErrno(error, "x"))) << error;
  }
  EXPECT_FALSE(IsTooManyOpenFiles(absl::OkStatus()));
}

TEST(BtrfsErrnoTest, AReachedQuotaIsTold) {
  EXPECT_TRUE(IsOverQuota(Annotate(StatusFromErrno(EDQUOT, "x"), "writing")));
  for (const int error : {ENOMEM, ENOSPC, EMFILE}) {
    EXPECT_FALSE(IsOverQuota(StatusFromErrno(error, "x"))) << error;
  }
}

// Only UNAVAILABLE is retried blindly, and an error is never OK.
TEST(BtrfsErrnoTest, UnknownErrorsAreUnknown) {
  for (const int error : {EXDEV, E2BIG, EDEADLK, 517, 4095}) {
    EXPECT_THAT(StatusFromErrno(error, "x"), HasCode(absl::StatusCode::kUnknown)) << error;
  }
}

TEST(BtrfsErrnoTest, MessageSaysWhatWasTriedAndWhy) {
  const std::string message(StatusFromErrno(EROFS, "deduping /a").message());
  EXPECT_THAT(message, StartsWith("deduping /a: "));
  EXPECT_THAT(message, HasSubstr("Read-only"));
}

}  // namespace
}  // namespace onefold
