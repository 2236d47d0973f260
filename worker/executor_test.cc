#include "worker/executor.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_errno.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr int64_t kBlock = 4096;
constexpr int64_t kMiB = 1 << 20;

class ExecutorTest : public ::testing::Test {
 protected:
  using Answer = FakeVolume::Answer;

  InodeId FileOf(const Blocks& blocks) {
    const InodeId file = volume_.AddFile("f");
    extent_ = volume_.Append(file, blocks);
    return file;
  }
  // Moves all of `destination` onto `source`, in pieces of `piece` blocks if given.
  Drop Fold(const InodeId& source, const InodeId& destination, int64_t piece = 0) {
    const int64_t size = volume_.SizeOf(destination);
    Drop drop;
    drop.address = volume_.ExtentsOf(destination).front();
    for (int64_t at = 0; at<size; at += piece> 0 ? piece * kBlock : size) {
      drop.moves.push_back({.source = source,
                            .source_offset = at,
                            .destination = destination,
                            .destination_offset = at,
                            .length = std::min(piece > 0 ? piece * kBlock : size, size - at)});
    }
    return drop;
  }
  // A source and so many copies of it.
  void MakeCopies(int count, const Blocks& blocks = "abcdefgh") {
    source_ = FileOf(blocks);
    for (int i = 0; i < count; ++i) {
      copies_.push_back(FileOf(blocks));
      drops_.push_back(Fold(source_, copies_.back()));
    }
  }

  std::vector<Execution> Execute(const std::vector<Drop>& drops) {
    Executor executor(volume_, options_, stop_, progress_);
    std::vector<Execution> executions = executor.Execute(drops);
    fatal_ = executor.fatal();
    EXPECT_EQ(executions.size(), drops.size());
    EXPECT_EQ(volume_.open_files(), 0);
    return executions;
  }
  Execution ExecuteOne() {
    const std::vector<Execution> executions = Execute({drops_[0]});
    return executions[0];
  }
  std::vector<DedupeAnswer> Failures(const std::vector<Execution>& executions) {
    std::vector<DedupeAnswer> failures;
    for (const Execution& execution : executions) failures.push_back(execution.failure);
    return failures;
  }
  std::vector<int64_t> CallSizes() {
    std::vector<int64_t> sizes;
    for (const auto& call : volume_.dedupe_calls()) {
      sizes.push_back(static_cast<int64_t>(call.destinations.size()));
    }
    return sizes;
  }

  FakeVolume volume_;
  Executor::Options options_ = {.thread_count = 1, .retry_pause = std::chrono::milliseconds(0)};
  StopSignal stop_;
  Progress progress_;
  DedupeAnswer fatal_ = DedupeAnswer::kSame;
  InodeId source_;
  std::vector<InodeId> copies_;
  std::vector<Drop> drops_;
  uint64_t extent_ = 0;
  std::set<int64_t> source_pages_;
};

// ---- The plain way

TEST_F(ExecutorTest, MovedExtentIsGoneAfterTheCommit) {
  MakeCopies(1);
  const Execution execution = ExecuteOne();
  EXPECT_TRUE(execution.moved);
  EXPECT_EQ(execution.shared_bytes, 8 * kBlock);
  EXPECT_EQ(execution.failure, DedupeAnswer::kSame);
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_FALSE(volume_.ExtentExists(drops_[0].address));
  EXPECT_EQ(progress_.dedupe_requests.load(), 1);
  EXPECT_EQ(volume_.Contents(copies_[0]), Blocks("abcdefgh"));
}

TEST_F(ExecutorTest, NothingToDoAsksNothing) {
  EXPECT_THAT(Execute({}), IsEmpty());
  EXPECT_THAT(volume_.dedupe_calls(), IsEmpty());
}

// Every pair is read just before: the kernel reads page by page, a hundred times slower.
TEST_F(ExecutorTest, BothRangesAreReadFirst) {
  MakeCopies(1);
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall& call, size_t) {
    EXPECT_THAT(volume_.ResidentPagesOf(call.source), SizeIs(8));
    EXPECT_THAT(volume_.ResidentPagesOf(call.destinations[0].file), SizeIs(8));
  });
  ExecuteOne();
  EXPECT_EQ(progress_.file_bytes_read.load(), 16 * kBlock);
}

TEST_F(ExecutorTest, TailsAreSharedToTheEndOfBothFiles) {
  source_ = FileOf("abcd");
  const InodeId copy = FileOf("abcd");
  volume_.SetSize(source_, 3 * kBlock + 17);
  volume_.SetSize(copy, 3 * kBlock + 17);
  const auto executions = Execute({Fold(source_, copy)});
  EXPECT_TRUE(executions[0].moved);
  EXPECT_EQ(executions[0].shared_bytes, 3 * kBlock + 17);
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_FALSE(volume_.ExtentExists(extent_));
}

// A file folded with another part of itself: opened once, locked once.
TEST_F(ExecutorTest, FileCanBeItsOwnSource) {
  const InodeId file = FileOf("abcd");
  volume_.Append(file, "abcd");
  Drop drop;
  drop.moves = {{.source = file,
                 .source_offset = 0,
                 .destination = file,
                 .destination_offset = 4 * kBlock,
                 .length = 4 * kBlock}};
  EXPECT_TRUE(Execute({drop})[0].moved);
  EXPECT_EQ(volume_.open_files_max(), 1);
}

// ---- Calls with many destinations

TEST_F(ExecutorTest, DestinationsOfOneSourceRangeShareACall) {
  MakeCopies(6);
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
  EXPECT_THAT(CallSizes(), ElementsAre(6));
  EXPECT_EQ(progress_.dedupe_requests.load(), 6);
}

// More than about 127 destinations are ENOMEM, and the whole group would be lost.
TEST_F(ExecutorTest, ThreeHundredDestinationsStayWithinTheKernelsLimit) {
  options_.destinations_max = kDedupeDestinationsMax;
  MakeCopies(300);
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
  EXPECT_THAT(CallSizes(), ElementsAre(127, 127, 46));
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_EQ(volume_.DataBytes(), 8 * kBlock);
}

// `ulimit -n 256` must not lose a group of a thousand files.
TEST_F(ExecutorTest, OpenFilesAreBounded) {
  options_.destinations_max = 5;
  options_.thread_count = 3;
  MakeCopies(100);
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
  EXPECT_LE(volume_.open_files_max(), 3 * (5 + 1));
}

// What one call reads is bounded, or eight threads would fill the memory of a small NAS.
TEST_F(ExecutorTest, LargeRangesAreNotPiledIntoOneCall) {
  MakeCopies(4, Blocks::Repeated(7, 1024));  // 4 MiB each
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
  EXPECT_THAT(CallSizes(), ElementsAre(1, 1, 1, 1));
}

// The kernel caps a call at 16 MiB, old ones silently.
TEST_F(ExecutorTest, LongMovesAreCutAndCoveredToTheEnd) {
  MakeCopies(1, Blocks::Repeated(7, 10000));
  const Execution execution = ExecuteOne();
  EXPECT_TRUE(execution.moved);
  EXPECT_EQ(execution.shared_bytes, 10000 * kBlock);
  const auto calls = volume_.dedupe_calls();
  ASSERT_THAT(calls, SizeIs(3));
  EXPECT_THAT(calls, Each(Field(&FakeVolume::DedupeCall::length, Le(16 * kMiB))));
  EXPECT_EQ(calls[2].offset + calls[2].length, 10000 * kBlock);
}

// ---- Answers for one destination

class ExecutorErrnoTest : public ExecutorTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Errno, ExecutorErrnoTest,
                         ::testing::Values(EINVAL, ENOENT, ESTALE, EISDIR, EPERM, EACCES, ETXTBSY,
                                           EXDEV, EIO, EUCLEAN, E2BIG, EOVERFLOW));

// One bad file of a group costs that file.
TEST_P(ExecutorErrnoTest, OthersOfTheCallAndTheRunGoOn) {
  MakeCopies(3);
  volume_.AnswerAlways(copies_[1], {.status = -GetParam()});
  const InodeId later = FileOf("xyz");
  const InodeId later_copy = FileOf("xyz");
  drops_.push_back(Fold(later, later_copy));
  const auto executions = Execute(drops_);
  EXPECT_TRUE(executions[0].moved);
  EXPECT_FALSE(executions[1].moved);
  EXPECT_TRUE(executions[2].moved);
  EXPECT_TRUE(executions[3].moved);
  EXPECT_EQ(executions[1].failure, ClassifyError(GetParam()));
  EXPECT_EQ(executions[1].error, GetParam());
  EXPECT_EQ(executions[1].failed_file, copies_[1]);
  EXPECT_EQ(executions[1].shared_bytes, 0);
  EXPECT_EQ(fatal_, DedupeAnswer::kSame);
  EXPECT_EQ(volume_.dedupe_pairs(), 4) << "asked again";
}

// The same answer for the call as a whole.
TEST_P(ExecutorErrnoTest, FailedCallFailsItsDestinationsOnly) {
  MakeCopies(2);
  const InodeId later = FileOf("xyz");
  drops_.push_back(Fold(later, FileOf("xyz")));
  volume_.FailCalls({GetParam()});
  const auto executions = Execute(drops_);
  EXPECT_EQ(executions[0].failure, ClassifyError(GetParam()));
  EXPECT_EQ(executions[1].failure, ClassifyError(GetParam()));
  EXPECT_TRUE(executions[2].moved);
}

TEST_F(ExecutorTest, DifferentDataIsNotShared) {
  MakeCopies(3);
  volume_.Overwrite(copies_[1], 5, "X");
  const auto executions = Execute(drops_);
  EXPECT_THAT(Failures(executions),
              ElementsAre(DedupeAnswer::kSame, DedupeAnswer::kDiffers, DedupeAnswer::kSame));
  EXPECT_EQ(volume_.Contents(copies_[1]), Blocks("abcdeXgh"));
}

// Written between the last look and the call.
TEST_F(ExecutorTest, WriteJustBeforeTheCallIsKept) {
  MakeCopies(1);
  volume_.BeforeDedupe(
      [&](const FakeVolume::DedupeCall&, size_t) { volume_.Overwrite(copies_[0], 3, "!"); });
  EXPECT_EQ(ExecuteOne().failure, DedupeAnswer::kDiffers);
  EXPECT_EQ(volume_.Contents(copies_[0]), Blocks("abc!efgh"));
  EXPECT_EQ(volume_.Contents(source_), Blocks("abcdefgh"));
}

TEST_F(ExecutorTest, ShrunkDestinationIsSkipped) {
  MakeCopies(2);
  volume_.SetSize(copies_[0], 2 * kBlock);
  EXPECT_THAT(Failures(Execute(drops_)), ElementsAre(DedupeAnswer::kChanged, DedupeAnswer::kSame));
}

TEST_F(ExecutorTest, ShrunkSourceFailsItsCall) {
  MakeCopies(2);
  volume_.SetSize(source_, 2 * kBlock);
  EXPECT_THAT(Failures(Execute(drops_)), Each(DedupeAnswer::kChanged));
}

TEST_F(ExecutorTest, SwapfileAndImmutableFileAreToldApart) {
  MakeCopies(3);
  volume_.SetSwapfile(copies_[0]);
  volume_.SetFlags(copies_[1], InodeItem::kImmutable);
  EXPECT_THAT(Failures(Execute(drops_)),
              ElementsAre(DedupeAnswer::kSwapfile, DedupeAnswer::kImmutable, DedupeAnswer::kSame));
}

// A drop of which one part failed frees nothing: further parts would be read for nothing.
TEST_F(ExecutorTest, FailedDropIsNotGoneOnWith) {
  source_ = FileOf("abcdefgh");
  const InodeId copy = FileOf("abcdefgh");
  volume_.AnswerNext(copy, {{}, {.status = -EINVAL}});
  const auto executions = Execute({Fold(source_, copy, 2)});
  EXPECT_FALSE(executions[0].moved);
  EXPECT_EQ(executions[0].shared_bytes, 2 * kBlock);
  EXPECT_EQ(volume_.dedupe_pairs(), 2);
}

TEST_F(ExecutorTest, DropIsMovedWhenAllItsPartsAre) {
  source_ = FileOf("abcdefgh");
  const InodeId copy = FileOf("abcdefgh");
  const auto executions = Execute({Fold(source_, copy, 3)});
  EXPECT_TRUE(executions[0].moved);
  EXPECT_EQ(executions[0].shared_bytes, 8 * kBlock);
}

// ---- Busy

// btrfs send reads the destination's subvolume for a moment.
TEST_F(ExecutorTest, BusyDestinationIsAskedAgain) {
  MakeCopies(3);
  volume_.AnswerNext(copies_[1], {{.status = -EAGAIN}});
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
  EXPECT_EQ(volume_.dedupe_pairs(), 4);
}

// …or for hours: a spin would burn a core until it ends.
TEST_F(ExecutorTest, BusyDestinationIsAskedABoundedNumberOfTimes) {
  MakeCopies(2);
  volume_.AnswerAlways(copies_[0], {.status = -EAGAIN});
  const auto executions = Execute(drops_);
  EXPECT_EQ(executions[0].failure, DedupeAnswer::kBusy);
  EXPECT_TRUE(executions[1].moved);
  EXPECT_LE(volume_.dedupe_pairs(), 4);
}

TEST_F(ExecutorTest, CallWithoutMemoryIsMadeAgain) {
  MakeCopies(2);
  volume_.FailCalls({ENOMEM, EINTR});
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
}

TEST_F(ExecutorTest, CallWithoutMemoryIsGivenUp) {
  MakeCopies(2);
  volume_.FailCalls(std::vector<int>(100, ENOMEM));
  EXPECT_THAT(Failures(Execute(drops_)), Each(DedupeAnswer::kNoMemory));
  EXPECT_LE(volume_.dedupe_calls().size(), 3u);
}

// ---- Progress

// Status 0 with 0 bytes, for ever: one core at 100 % for a week.
TEST_F(ExecutorTest, ZeroProgressEndsThePair) {
  MakeCopies(2);
  volume_.AnswerAlways(copies_[0], {.bytes = 0});
  EXPECT_THAT(Failures(Execute(drops_)),
              ElementsAre(DedupeAnswer::kNoProgress, DedupeAnswer::kSame));
  EXPECT_EQ(volume_.dedupe_pairs(), 2);
}

// Other filesystems may cut a request short without an error.
TEST_F(ExecutorTest, ShortAnswersAreGoneOnWith) {
  MakeCopies(3);
  volume_.AnswerNext(copies_[0], {{.bytes = 2 * kBlock}, {.bytes = 3 * kBlock}});
  volume_.AnswerNext(copies_[1], {{.bytes = 5 * kBlock}});
  const auto executions = Execute(drops_);
  EXPECT_THAT(executions, Each(Field(&Execution::moved, true)));
  EXPECT_THAT(executions, Each(Field(&Execution::shared_bytes, 8 * kBlock)));
  ASSERT_THAT(volume_.Commit(), IsOk());
  EXPECT_EQ(volume_.DataBytes(), 8 * kBlock);
}

TEST_F(ExecutorTest, ShortAnswersThatEndInAnErrorAreNotMoved) {
  MakeCopies(1);
  volume_.AnswerNext(copies_[0], {{.bytes = 2 * kBlock}, {.status = 1}});
  const Execution execution = ExecuteOne();
  EXPECT_FALSE(execution.moved);
  EXPECT_EQ(execution.failure, DedupeAnswer::kDiffers);
}

// A block at a time for ever is progress all the same, and ends.
TEST_F(ExecutorTest, OneBlockAtATimeGetsThere) {
  MakeCopies(1, Blocks::Series(1, 64));
  volume_.AnswerAlways(copies_[0], {.bytes = kBlock});
  EXPECT_TRUE(ExecuteOne().moved);
  EXPECT_EQ(volume_.dedupe_calls().size(), 64u);
}

// Busy and short in turn: both are bounded together.
TEST_F(ExecutorTest, MixedTroubleEnds) {
  MakeCopies(3, Blocks::Series(1, 16));
  volume_.AnswerAlways(copies_[0], {.status = -EAGAIN});
  volume_.AnswerAlways(copies_[1], {.bytes = kBlock});
  volume_.AnswerAlways(copies_[2], {.bytes = 0});
  const auto executions = Execute(drops_);
  EXPECT_EQ(executions[0].failure, DedupeAnswer::kBusy);
  EXPECT_EQ(executions[2].failure, DedupeAnswer::kNoProgress);
  EXPECT_LE(volume_.dedupe_pairs(), 40);
}

// ---- Files that cannot be opened or read

TEST_F(ExecutorTest, DestinationThatIsGoneIsSkipped) {
  MakeCopies(3);
  volume_.Remove(copies_[1]);
  EXPECT_THAT(Failures(Execute(drops_)),
              ElementsAre(DedupeAnswer::kSame, DedupeAnswer::kChanged, DedupeAnswer::kSame));
}

TEST_F(ExecutorTest, SourceThatIsGoneFailsItsDestinations) {
  MakeCopies(2);
  volume_.Remove(source_);
  EXPECT_THAT(Failures(Execute(drops_)), Each(DedupeAnswer::kChanged));
  EXPECT_THAT(volume_.dedupe_calls(), IsEmpty());
}

TEST_F(ExecutorTest, OpenErrorsHaveTheirAnswers) {
  MakeCopies(7);
  volume_.FailOpen(copies_[0], absl::PermissionDeniedError(""));
  volume_.FailOpen(copies_[1], absl::ResourceExhaustedError(""));  // ENOMEM
  volume_.FailOpen(copies_[2], absl::UnavailableError(""));        // EINTR
  volume_.FailOpen(copies_[3], absl::DataLossError(""));           // the inode cannot be read
  volume_.FailOpen(copies_[4], absl::UnknownError(""));
  volume_.FailOpen(copies_[5], StatusFromErrno(EMFILE, ""));
  EXPECT_THAT(Failures(Execute(drops_)),
              ElementsAre(DedupeAnswer::kImmutable, DedupeAnswer::kNoMemory, DedupeAnswer::kBusy,
                          DedupeAnswer::kReadError, DedupeAnswer::kRefused, DedupeAnswer::kNoFiles,
                          DedupeAnswer::kSame));
  EXPECT_EQ(fatal_, DedupeAnswer::kSame);
}

// Reading ahead is a favour: the kernel's own answer counts.
TEST_F(ExecutorTest, ReadErrorsAreLeftToTheKernelToName) {
  MakeCopies(2);
  volume_.FailRead(copies_[0], absl::DataLossError("checksum"));
  volume_.AnswerAlways(copies_[0], {.status = -EIO});
  volume_.FailRead(copies_[1], absl::DataLossError("passing trouble"));
  EXPECT_THAT(Failures(Execute(drops_)),
              ElementsAre(DedupeAnswer::kReadError, DedupeAnswer::kSame));
}

// The kernel answers for the pair; whoever is told to look at the healthy one loses the other.
TEST_F(ExecutorTest, FileThatCannotBeReadIsTheOneThatIsNamed) {
  MakeCopies(3);
  volume_.FailRead(source_, absl::DataLossError("checksum"));
  volume_.FailRead(copies_[1], absl::DataLossError("checksum"));
  for (int i = 0; i < 2; ++i) volume_.AnswerAlways(copies_[i], {.status = -EIO});
  volume_.AnswerAlways(copies_[2], {.status = -ETXTBSY});
  const auto executions = Execute(drops_);
  EXPECT_EQ(executions[0].failed_file, source_);
  EXPECT_EQ(executions[1].failed_file, copies_[1]);
  EXPECT_EQ(executions[2].failed_file, copies_[2]);
}

TEST_F(ExecutorTest, SourceThatCannotBeOpenedIsNamed) {
  MakeCopies(1);
  volume_.FailOpen(source_, absl::DataLossError("the inode cannot be read"));
  const Execution execution = ExecuteOne();
  EXPECT_EQ(execution.failure, DedupeAnswer::kReadError);
  EXPECT_EQ(execution.failed_file, source_);
}

// ---- Endings

class ExecutorFatalTest : public ExecutorTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Errno, ExecutorFatalTest,
                         ::testing::Values(EROFS, ENOSPC, EDQUOT, ENOTTY, EOPNOTSUPP));

// Every further request would be answered the same: a million times over.
TEST_P(ExecutorFatalTest, FatalAnswerEndsTheWork) {
  options_.destinations_max = 1;
  MakeCopies(50);
  volume_.AnswerAlways(copies_[3], {.status = -GetParam()});
  const auto executions = Execute(drops_);
  EXPECT_EQ(fatal_, ClassifyError(GetParam()));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(executions[i].moved) << i;
  EXPECT_EQ(executions[3].failure, ClassifyError(GetParam()));
  for (int i = 4; i < 50; ++i) EXPECT_EQ(executions[i].failure, DedupeAnswer::kStopped) << i;
  EXPECT_EQ(volume_.dedupe_calls().size(), 4u);
}

TEST_P(ExecutorFatalTest, FatalAnswerEndsAllThreads) {
  options_.thread_count = 8;
  options_.destinations_max = 1;
  MakeCopies(50);
  volume_.FailCalls(std::vector<int>(100, GetParam()));
  Execute(drops_);
  EXPECT_EQ(fatal_, ClassifyError(GetParam()));
  EXPECT_LE(volume_.dedupe_calls().size(), 8u);
}

TEST_F(ExecutorTest, NothingStartsAfterTheSignal) {
  MakeCopies(3);
  stop_.Request(StopSignal::Reason::kInterrupted);
  EXPECT_THAT(Failures(Execute(drops_)), Each(DedupeAnswer::kStopped));
  EXPECT_THAT(volume_.dedupe_calls(), IsEmpty());
}

// What was done counts; what was not is not called moved.
TEST_F(ExecutorTest, SignalInTheMiddleEndsAfterTheCall) {
  options_.destinations_max = 2;
  MakeCopies(6);
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    if (number == 1) stop_.Request(StopSignal::Reason::kInterrupted);
  });
  const auto executions = Execute(drops_);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(executions[i].moved) << i;
  for (int i = 4; i < 6; ++i) EXPECT_EQ(executions[i].failure, DedupeAnswer::kStopped) << i;
  EXPECT_EQ(volume_.dedupe_calls().size(), 2u);
}

// Threads that wait for an inode while the signal comes must not ask once more each.
TEST_F(ExecutorTest, NothingStartsAfterTheSignalOnOtherThreads) {
  options_.thread_count = 8;
  options_.destinations_max = 1;
  MakeCopies(30);
  volume_.SetDedupeDelay(std::chrono::milliseconds(2));
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    EXPECT_FALSE(stop_.requested());
    if (number == 2) stop_.Request(StopSignal::Reason::kInterrupted);
  });
  Execute(drops_);
  EXPECT_EQ(volume_.dedupe_calls().size(), 3u);
}

// A call that the kernel cut short goes on with a new request: not after the signal.
TEST_F(ExecutorTest, ShortAnswersAreNotGoneOnWithAfterTheSignal) {
  MakeCopies(1);
  volume_.AnswerAlways(copies_[0], {.bytes = kBlock});
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) {
    stop_.Request(StopSignal::Reason::kInterrupted);
  });
  EXPECT_EQ(ExecuteOne().failure, DedupeAnswer::kStopped);
  EXPECT_EQ(volume_.dedupe_calls().size(), 1u);
}

TEST_F(ExecutorTest, BusyDestinationsAreNotAskedAgainAfterTheSignal) {
  MakeCopies(1);
  volume_.AnswerAlways(copies_[0], {.status = -EAGAIN});
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) {
    stop_.Request(StopSignal::Reason::kInterrupted);
  });
  EXPECT_FALSE(ExecuteOne().moved);
  EXPECT_EQ(volume_.dedupe_calls().size(), 1u);
}

// A second SIGTERM inside the ioctl: later entries come back with 0 bytes.
TEST_F(ExecutorTest, KilledEntriesAreNotDone) {
  MakeCopies(3);
  volume_.AnswerAlways(copies_[1], {.bytes = 0});
  volume_.AnswerAlways(copies_[2], {.bytes = 0});
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) {
    stop_.Request(StopSignal::Reason::kInterrupted);
  });
  const auto executions = Execute(drops_);
  EXPECT_TRUE(executions[0].moved);
  EXPECT_FALSE(executions[1].moved);
  EXPECT_FALSE(executions[2].moved);
}

// ---- Threads

// Kernels hang when several threads dedupe one inode: groups share files in all ways here.
TEST_F(ExecutorTest, NeverTwoThreadsOnOneInode) {
  options_.thread_count = 8;
  options_.destinations_max = 3;
  std::vector<InodeId> files;
  for (int i = 0; i < 7; ++i) {
    const InodeId file = volume_.AddFile("f");
    for (int j = 0; j < 20; ++j) volume_.Append(file, Blocks::Series(static_cast<uint32_t>(j), 4));
    files.push_back(file);
  }
  std::vector<Drop> drops;
  for (int j = 0; j < 20; ++j) {
    for (size_t i = 1; i < files.size(); ++i) {
      Drop drop;
      drop.moves = {{.source = files[static_cast<size_t>(j % 3 == 0 ? 0 : i - 1)],
                     .source_offset = j * 4 * kBlock,
                     .destination = files[i],
                     .destination_offset = j * 4 * kBlock,
                     .length = 4 * kBlock}};
      drops.push_back(drop);
    }
  }
  volume_.SetDedupeDelay(std::chrono::microseconds(100));
  EXPECT_THAT(Execute(drops), Each(Field(&Execution::moved, true)));
  EXPECT_EQ(volume_.inode_clashes(), 0);
}

TEST_F(ExecutorTest, ThreadsThatHaveNothingInCommonWorkAtOnce) {
  options_.thread_count = 4;
  std::vector<Drop> drops;
  for (uint32_t i = 0; i < 4; ++i) {
    const InodeId source = FileOf(Blocks::Series(i, 4));
    drops.push_back(Fold(source, FileOf(Blocks::Series(i, 4))));
  }
  // Each call waits until all have begun: one after the other, they would wait for ever.
  std::atomic<int> begun{0};
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) {
    ++begun;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun.load() < 4 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
  });
  EXPECT_THAT(Execute(drops), Each(Field(&Execution::moved, true)));
  EXPECT_EQ(begun.load(), 4);
}

// ---- The page cache, left as it was found

TEST_F(ExecutorTest, WhatWasNotCachedIsDroppedAgain) {
  MakeCopies(2);
  volume_.AnswerAlways(copies_[1], {.status = 1});
  Execute(drops_);
  EXPECT_THAT(volume_.ResidentPagesOf(source_), IsEmpty());
  EXPECT_THAT(volume_.ResidentPagesOf(copies_[0]), IsEmpty());
  EXPECT_THAT(volume_.ResidentPagesOf(copies_[1]), IsEmpty());
}

// What others work with must stay.
TEST_F(ExecutorTest, WhatWasCachedStays) {
  MakeCopies(1);
  volume_.AnswerAlways(copies_[0], {.status = 1});
  volume_.SetResident(source_, 2, 3);
  volume_.SetResident(copies_[0], 0, 1);
  volume_.SetResident(copies_[0], 7, 1);
  ExecuteOne();
  EXPECT_THAT(volume_.ResidentPagesOf(source_), ElementsAre(2, 3, 4));
  EXPECT_THAT(volume_.ResidentPagesOf(copies_[0]), ElementsAre(0, 7));
}

// Pages of the file outside the range are nobody's business here.
TEST_F(ExecutorTest, PagesOutsideTheRangeAreNotTouched) {
  source_ = FileOf("abcdefgh");
  const InodeId copy = FileOf("abcdefgh");
  volume_.SetResident(source_, 0, 2);
  volume_.SetResident(source_, 6, 2);
  Drop drop;
  drop.moves = {{.source = source_,
                 .source_offset = 3 * kBlock,
                 .destination = copy,
                 .destination_offset = 3 * kBlock,
                 .length = 2 * kBlock}};
  Execute({drop});
  EXPECT_THAT(volume_.ResidentPagesOf(source_), ElementsAre(0, 1, 6, 7));
}

// Where it cannot be told what was cached, nothing may be dropped.
TEST_F(ExecutorTest, UnknownPagesStay) {
  MakeCopies(1);
  volume_.SetResident(source_, 0, 8);
  volume_.HideResidentPages();
  ExecuteOne();
  EXPECT_THAT(volume_.ResidentPagesOf(source_), SizeIs(8));
}

TEST_F(ExecutorTest, CacheIsRestoredAfterFailedCallsToo) {
  MakeCopies(1);
  volume_.FailCalls({EIO});
  ExecuteOne();
  EXPECT_THAT(volume_.ResidentPagesOf(source_), IsEmpty());
  EXPECT_THAT(volume_.ResidentPagesOf(copies_[0]), IsEmpty());
}

// One source for calls of two threads: what the first one has read was not there before, though the
// second one finds it there.
TEST_F(ExecutorTest, SourceOfManyCallsIsDroppedAsWell) {
  options_.thread_count = 2;
  options_.destinations_max = 1;
  MakeCopies(2);
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall& call, size_t number) {
    if (number != 0) return;
    const InodeId other = call.destinations[0].file == copies_[0] ? copies_[1] : copies_[0];
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (volume_.ResidentPagesOf(other).size() < 8 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  });
  EXPECT_THAT(Execute(drops_), Each(Field(&Execution::moved, true)));
  EXPECT_THAT(volume_.ResidentPagesOf(source_), IsEmpty());
}

// …and read once, not for each call.
TEST_F(ExecutorTest, SourceOfManyCallsStaysUntilTheLast) {
  options_.destinations_max = 1;
  MakeCopies(5);
  volume_.BeforeDedupe([&](const FakeVolume::DedupeCall& call, size_t number) {
    if (number == 0) return;
    EXPECT_THAT(source_pages_, SizeIs(8)) << "call " << number;
    EXPECT_THAT(volume_.ResidentPagesOf(call.source), SizeIs(8));
  });
  volume_.AfterOpen([&](const InodeId& file) {
    if (file == source_) source_pages_ = volume_.ResidentPagesOf(source_);
  });
  Execute(drops_);
  EXPECT_THAT(volume_.ResidentPagesOf(source_), IsEmpty());
}

}  // namespace
}  // namespace onefold
