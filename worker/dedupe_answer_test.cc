#include "worker/dedupe_answer.h"

#include <cerrno>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace onefold {
namespace {

struct Row {
  int error;
  DedupeAnswer answer;
};
// fs/remap_range.c, fs/btrfs/reflink.c, ioctl_fideduperange(2).
const std::vector<Row> kTable = {
    {EAGAIN, DedupeAnswer::kBusy},  // the destination's subvolume is being sent
    {EBUSY, DedupeAnswer::kBusy},
    {EINTR, DedupeAnswer::kBusy},
    {EINVAL, DedupeAnswer::kChanged},  // past end of file, nodatasum against datasum
    {ENOENT, DedupeAnswer::kChanged},
    {ESTALE, DedupeAnswer::kChanged},
    {EISDIR, DedupeAnswer::kChanged},
    {ELOOP, DedupeAnswer::kChanged},
    {EBADF, DedupeAnswer::kChanged},
    {EPERM, DedupeAnswer::kImmutable},
    {EACCES, DedupeAnswer::kImmutable},
    {ETXTBSY, DedupeAnswer::kSwapfile},
    {EROFS, DedupeAnswer::kReadOnly},
    {EXDEV, DedupeAnswer::kOtherMount},
    {EIO, DedupeAnswer::kReadError},
    {EUCLEAN, DedupeAnswer::kReadError},
    {ENOSPC, DedupeAnswer::kNoSpace},
    {EDQUOT, DedupeAnswer::kQuota},
    {ENOMEM, DedupeAnswer::kNoMemory},
    {EMFILE, DedupeAnswer::kNoFiles},
    {ENFILE, DedupeAnswer::kNoFiles},
    {ENOTTY, DedupeAnswer::kUnsupported},
    {EOPNOTSUPP, DedupeAnswer::kUnsupported},
    {ENOSYS, DedupeAnswer::kUnsupported},
};

TEST(DedupeAnswerTest, EveryErrnoHasItsAnswer) {
  for (const Row& row : kTable) {
    EXPECT_EQ(ClassifyError(row.error), row.answer) << row.error;
    EXPECT_EQ(ClassifyAnswer(-row.error, 0, 4096), row.answer) << row.error;
    EXPECT_EQ(ClassifyAnswer(-row.error, 4096, 4096), row.answer) << "bytes do not matter";
  }
}

// An errno of a kernel to come is one file's trouble; it must neither stop the run nor be retried.
TEST(DedupeAnswerTest, UnknownErrnoIsARefusal) {
  std::set<int> known;
  for (const Row& row : kTable) known.insert(row.error);
  for (int error = 1; error < 4096; ++error) {
    if (known.count(error) > 0) continue;
    const DedupeAnswer answer = ClassifyError(error);
    EXPECT_EQ(answer, DedupeAnswer::kRefused) << error;
    EXPECT_FALSE(IsTransient(answer));
    EXPECT_FALSE(IsFatal(answer));
  }
}

TEST(DedupeAnswerTest, OneMeansTheDataDiffers) {
  EXPECT_EQ(ClassifyAnswer(1, 0, 4096), DedupeAnswer::kDiffers);
  EXPECT_EQ(ClassifyAnswer(1, 4096, 4096), DedupeAnswer::kDiffers);
}

// A status that no kernel gives today is no success.
TEST(DedupeAnswerTest, OtherPositiveStatusIsARefusal) {
  for (const int32_t status : {2, 3, 4096, INT32_MAX}) {
    EXPECT_EQ(ClassifyAnswer(status, 4096, 4096), DedupeAnswer::kRefused) << status;
  }
}

// Taken for success, a range of which nothing was done is asked for again for ever (a core at 100 %
// for a week); taken for done, it is counted as shared.
TEST(DedupeAnswerTest, SameForZeroBytesIsNoProgress) {
  EXPECT_EQ(ClassifyAnswer(0, 0, 4096), DedupeAnswer::kNoProgress);
  EXPECT_EQ(ClassifyAnswer(0, -1, 4096), DedupeAnswer::kNoProgress);
  EXPECT_EQ(ClassifyAnswer(0, 0, 0), DedupeAnswer::kSame);  // what probing asks
  EXPECT_EQ(ClassifyAnswer(0, 1, 4096), DedupeAnswer::kSame);
  EXPECT_EQ(ClassifyAnswer(0, 4096, 4096), DedupeAnswer::kSame);
}

// A loop over what is asked again must be able to end, and one bad file must not end a run.
TEST(DedupeAnswerTest, NothingIsBothTransientAndFatal) {
  std::set<DedupeAnswer> transient;
  std::set<DedupeAnswer> fatal;
  for (int answer = 0; answer <= static_cast<int>(DedupeAnswer::kStopped); ++answer) {
    if (IsTransient(static_cast<DedupeAnswer>(answer))) transient.insert(DedupeAnswer{answer});
    if (IsFatal(static_cast<DedupeAnswer>(answer))) fatal.insert(DedupeAnswer{answer});
  }
  EXPECT_EQ(transient,
            (std::set{DedupeAnswer::kBusy, DedupeAnswer::kNoMemory, DedupeAnswer::kNoFiles}));
  EXPECT_EQ(fatal, (std::set{DedupeAnswer::kReadOnly, DedupeAnswer::kNoSpace, DedupeAnswer::kQuota,
                             DedupeAnswer::kUnsupported}));
}

}  // namespace
}  // namespace onefold
