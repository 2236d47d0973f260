#include "worker/plan_run.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_errno.h"
#include "worker/testing/plan_run_fixture.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int64_t kBlock = 4096;

// ---- The plain way

TEST_F(PlanRunTest, FoldedExtentIsFreedAndReported) {
  const auto [keep, drop] = OfferPair();
  WorkAndVerify();
  EXPECT_THAT(ResultOf(keep), Just(Outcome::kKept));
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kFreed));
  EXPECT_EQ(totals().bytes_freed, 8 * kBlock);
  EXPECT_EQ(totals().bytes_shared, 8 * kBlock);
  EXPECT_FALSE(volume().ExtentExists(drop));
  EXPECT_EQ(volume().DataBytes(), 8 * kBlock);
  EXPECT_FALSE(run().ended_early());
  EXPECT_THAT(report_.problems, IsEmpty());
  EXPECT_THAT(report_.counters.skipped, IsEmpty());
}

// Nothing counts before the extent tree says so: a run killed here must not have promised anything.
TEST_F(PlanRunTest, NothingIsFreedBeforeTheCommit) {
  const auto [keep, drop] = OfferPair();
  ASSERT_THAT(Work(), IsOk());
  EXPECT_THAT(ResultOf(keep), Just(Outcome::kKept));
  EXPECT_EQ(coordinator_.ResultByAddress().count(drop), 0u);
  EXPECT_EQ(totals().bytes_freed, 0);
  EXPECT_EQ(volume().commit_count(), 0);
}

TEST_F(PlanRunTest, EmptyPlanTouchesNothing) {
  WorkAndVerify();
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
  EXPECT_EQ(volume().commit_count(), 0);
  EXPECT_THAT(coordinator_.results(), IsEmpty());
}

TEST_F(PlanRunTest, VerifyingTwiceCountsOnce) {
  OfferPair();
  WorkAndVerify();
  const size_t results = coordinator_.results().size();
  ASSERT_THAT(run().Verify(), IsOk());
  EXPECT_EQ(totals().bytes_freed, 8 * kBlock);
  EXPECT_EQ(coordinator_.results().size(), results);
  EXPECT_EQ(volume().commit_count(), 1);
}

TEST_F(PlanRunTest, PagesOfThePlanAreAllWorkedOn) {
  coordinator_.groups_per_page = 3;
  for (uint32_t i = 0; i < 10; ++i) OfferPair(Blocks::Series(i, 8));
  WorkAndVerify();
  EXPECT_EQ(totals().bytes_freed, 80 * kBlock);
}

// Compressed: what is freed is what lay on the disk.
TEST_F(PlanRunTest, FreedIsCountedOnDisk) {
  std::vector<uint64_t> extents;
  for (int i = 0; i < 2; ++i) {
    const InodeId file = volume().AddFile("z");
    extents.push_back(volume().AppendCompressed(file, Blocks::Series(1, 32), "pq", 3));
  }
  Offer(on_.GroupOf(extents));
  WorkAndVerify();
  EXPECT_EQ(totals().bytes_freed, 2 * kBlock);
  EXPECT_EQ(totals().bytes_shared, 32 * kBlock);
}

TEST_F(PlanRunTest, InsidePlanIsWorkedOn) {
  const uint64_t image = FileOf(Blocks::Series(1, 100));
  const uint64_t file = FileOf(Blocks::Series(1, 10, 40));
  Offer(on_.InsideGroup(file, image, 40), PlanKind::kInside);
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(file), Just(Outcome::kFreed));
  EXPECT_EQ(totals().bytes_freed, 10 * kBlock);
}

// ---- Dry run

TEST_F(PlanRunTest, DryRunReportsNothingAndChangesNothing) {
  options_.dry_run = true;
  options_.example_count = 5;
  const auto [keep, drop] = OfferPair();
  const auto generation = volume().Generation();
  WorkAndVerify();
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
  EXPECT_EQ(volume().commit_count(), 0);
  EXPECT_EQ(volume().Generation(), generation);
  EXPECT_EQ(volume().open_files_max(), 0);
  EXPECT_THAT(coordinator_.results(), IsEmpty());
  EXPECT_TRUE(volume().ExtentExists(keep) && volume().ExtentExists(drop));
  EXPECT_EQ(totals().bytes_freeable, 8 * kBlock);
  EXPECT_EQ(totals().bytes_freed, 0);
  EXPECT_EQ(totals().bytes_shared, 0);
}

TEST_F(PlanRunTest, DryRunShowsExamples) {
  options_.dry_run = true;
  options_.example_count = 2;
  for (uint32_t i = 0; i < 4; ++i) {
    const InodeId a = volume().AddFile("a" + std::to_string(i));
    const InodeId b = volume().AddFile("b" + std::to_string(i));
    Offer(on_.GroupOf(
        {volume().Append(a, Blocks::Series(i, 4)), volume().Append(b, Blocks::Series(i, 4))}));
  }
  WorkAndVerify();
  ASSERT_THAT(report_.examples, SizeIs(2));
  EXPECT_EQ(report_.examples[0].source, "/srv/a0");
  EXPECT_EQ(report_.examples[0].destination, "/srv/b0");
  EXPECT_EQ(report_.examples[0].bytes, 4 * kBlock);
}

// The same extent is offered by many hits: a dry run cannot see that it is gone by then.
TEST_F(PlanRunTest, DryRunCountsAnExtentOnce) {
  options_.dry_run = true;
  const uint64_t image = FileOf(Blocks::Series(1, 100));
  const uint64_t file = FileOf(Blocks::Series(1, 10, 40));
  for (int i = 0; i < 5; ++i) Offer(on_.InsideGroup(file, image, 40), PlanKind::kInside);
  WorkAndVerify(PlanKind::kInside);
  EXPECT_EQ(totals().bytes_freeable, 10 * kBlock);
}

// What would be freed is what a real run frees.
TEST_F(PlanRunTest, DryRunPromisesWhatARunKeeps) {
  for (uint32_t i = 0; i < 5; ++i) OfferPair(Blocks::Series(i, 8));
  options_.dry_run = true;
  WorkAndVerify();
  const int64_t promised = totals().bytes_freeable;
  options_.dry_run = false;
  run_.reset();
  WorkAndVerify();
  EXPECT_EQ(totals().bytes_freed, promised);
}

// ---- Things that happen meanwhile

// The snapshot took the old extent along: its reference is moved in a second try.
TEST_F(PlanRunTest, SnapshotTakenMeanwhileIsTakenAlong) {
  volume().AddSubvolume(300, {.name = "home"});
  const uint64_t keep = FileOf("abcdefgh");
  const uint64_t drop = FileOf("abcdefgh", {.subvolume = 300});
  Offer(on_.GroupOf({keep, drop}));
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    if (number != 0) return;
    volume().AddSubvolume(301, {.name = "snap", .read_only = true, .snapshot_of = 300});
  });
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kFreed));
  EXPECT_EQ(totals().bytes_freed, 8 * kBlock);
  EXPECT_EQ(totals().bytes_shared, 16 * kBlock);
  EXPECT_EQ(volume().DataBytes(), 8 * kBlock);
}

// Outside the scope it pins; what was moved for nothing is not freed.
TEST_F(PlanRunTest, SnapshotTakenMeanwhileOutsideTheScopePins) {
  volume().AddSubvolume(300, {.name = "home"});
  volume().AddSubvolume(301, {.name = "away"});
  on_.roots = {{.path = "/home", .subvolume_id = 300, .inode = kTopDirectory}};
  const uint64_t keep = FileOf("abcdefgh", {.subvolume = 300});
  const uint64_t drop = FileOf("abcdefgh", {.subvolume = 300});
  Offer(on_.GroupOf({keep, drop}));
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    if (number != 0) return;
    volume().AddSubvolume(302, {.parent = 301, .name = "snap", .snapshot_of = 300});
  });
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Pinned(Holder::kSnapshot));
  EXPECT_EQ(totals().bytes_freed, 0);
  EXPECT_TRUE(volume().ExtentExists(drop));
}

// A cron job that takes snapshots all the time: two tries, then it waits for the next run.
TEST_F(PlanRunTest, SnapshotsAllTheTimeAreGivenUpOn) {
  volume().AddSubvolume(300, {.name = "home"});
  const uint64_t keep = FileOf("abcdefgh");
  const uint64_t drop = FileOf("abcdefgh", {.subvolume = 300});
  Offer(on_.GroupOf({keep, drop}));
  uint64_t next = 301;
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) {
    if (!volume().ExtentExists(drop)) return;
    volume().AddSubvolume(next, {.name = "s" + std::to_string(next), .snapshot_of = next - 1});
    ++next;
  });
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
  EXPECT_EQ(totals().bytes_freed, 0);
  EXPECT_LE(volume().dedupe_calls().size(), 4u);
}

// Somebody deleted the file: the extent is gone, but that was not us.
TEST_F(PlanRunTest, ExtentFreedByOthersIsNotOurs) {
  OfferPair();
  const InodeId file = last_file_;
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) { volume().Remove(file); });
  WorkAndVerify();
  EXPECT_EQ(totals().bytes_freed, 0);
  EXPECT_EQ(totals().bytes_shared, 0);
}

// Written between look and call: the new data stays, and the extent is tried again later.
TEST_F(PlanRunTest, FileWrittenMeanwhileIsTriedAgain) {
  const auto [keep, drop] = OfferPair();
  const InodeId file = last_file_;
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    if (number == 0) volume().Overwrite(file, 3, "!");
  });
  WorkAndVerify();
  EXPECT_EQ(volume().Contents(file), Blocks("abc!efgh"));
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
  EXPECT_EQ(report_.counters.skipped["changed"], 1);
  EXPECT_EQ(totals().bytes_freed, 0);
}

TEST_F(PlanRunTest, ExtentsGoneBeforeTheyWereTouchedAreReported) {
  const auto [keep, drop] = OfferPair();
  volume().Remove(last_file_);
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kGone));
  EXPECT_THAT(ResultOf(keep), Just(Outcome::kNoPartner));
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
}

// Moved out of scope after one batch was settled and before the next one is.
TEST_F(PlanRunTest, ScopeIsCheckedAnewInEachBatch) {
  on_.Exclude({"/srv/frozen"});
  const uint64_t frozen = volume().AddDirectory("frozen");
  const InodeId file = volume().AddFile("f");
  const uint64_t first = volume().Append(file, Blocks::Series(1, 4));
  const uint64_t second = volume().Append(file, Blocks::Series(2, 4));
  const InodeId other = volume().AddFile("g");
  const uint64_t first_keep = volume().Append(other, Blocks::Series(1, 4));
  const uint64_t second_keep = volume().Append(other, Blocks::Series(2, 4));
  Offer(on_.GroupOf({first, first_keep}));
  ASSERT_THAT(Work(), IsOk());
  volume().Unlink(file);
  volume().Link(file, frozen, "f");
  coordinator_.plan[PlanKind::kWhole] = {on_.GroupOf({second, second_keep})};
  const size_t calls = volume().dedupe_calls().size();
  ASSERT_THAT(Work(), IsOk());
  EXPECT_EQ(volume().dedupe_calls().size(), calls);
}

// ---- What the kernel answered is what is reported

struct AnswerCase {
  int32_t status;  // as the kernel gives it
  Outcome outcome;
  Holder holder;
  const char* skipped;  // reason, or nullptr
  const char* problem;
};

class PlanRunAnswerTest : public PlanRunTest, public ::testing::WithParamInterface<AnswerCase> {};

INSTANTIATE_TEST_SUITE_P(
    Answers, PlanRunAnswerTest,
    ::testing::Values(
        AnswerCase{1, Outcome::kDiffers, Holder::kNone, "differs", nullptr},
        AnswerCase{-EINVAL, Outcome::kRetry, Holder::kNone, "changed", nullptr},
        AnswerCase{-ENOENT, Outcome::kRetry, Holder::kNone, "changed", nullptr},
        AnswerCase{-EPERM, Outcome::kPinned, Holder::kImmutable, nullptr, nullptr},
        AnswerCase{-ETXTBSY, Outcome::kPinned, Holder::kSwapfile, nullptr, nullptr},
        AnswerCase{-EIO, Outcome::kRetry, Holder::kNone, "read error", "read error"},
        AnswerCase{-EUCLEAN, Outcome::kRetry, Holder::kNone, "read error", "read error"},
        AnswerCase{-EXDEV, Outcome::kPinned, Holder::kRefused, nullptr, "other mount"},
        AnswerCase{-E2BIG, Outcome::kPinned, Holder::kRefused, nullptr, "refused"}));

TEST_P(PlanRunAnswerTest, OutcomeFollowsTheAnswer) {
  const AnswerCase& answer = GetParam();
  const auto [keep, drop] = OfferPair();
  volume().AnswerAlways(last_file_, {.status = answer.status});
  const auto [other_keep, other_drop] = OfferPair("stuv");
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Pair(answer.outcome, answer.holder));
  EXPECT_THAT(ResultOf(other_drop), Just(Outcome::kFreed)) << "the run went on";
  EXPECT_EQ(totals().bytes_freed, 4 * kBlock);
  EXPECT_EQ(totals().bytes_shared, 4 * kBlock);
  if (answer.skipped != nullptr) {
    EXPECT_THAT(report_.counters.skipped, ElementsAre(Pair(answer.skipped, 1)));
  } else {
    EXPECT_THAT(report_.counters.skipped, IsEmpty());
  }
  if (answer.problem != nullptr) {
    EXPECT_THAT(ProblemReasons(), ElementsAre(answer.problem));
    EXPECT_EQ(report_.problems[0].path, "/srv/f");
    EXPECT_THAT(report_.problems[0].detail, Not(IsEmpty()));
    EXPECT_THAT(report_.problems[0].detail, Not(HasSubstr("Success")));
  } else {
    EXPECT_THAT(report_.problems, IsEmpty());
  }
}

// What cannot be read is named until it is mended, and then folded: both sides stay queued.
TEST_F(PlanRunTest, UnreadableSourceIsNamedAndTriedAgain) {
  const InodeId source = volume().AddFile("source");
  const uint64_t keep = volume().Append(source, "abcdefgh");
  const uint64_t drop = FileOf("abcdefgh");
  Offer(on_.GroupOf({keep, drop}));
  volume().FailRead(source, absl::DataLossError("checksum"));
  volume().AnswerAlways(last_file_, {.status = -EIO});
  WorkAndVerify();
  EXPECT_THAT(ResultOf(keep), Just(Outcome::kRetry));
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
  ASSERT_THAT(ProblemReasons(), ElementsAre("read error"));
  EXPECT_EQ(report_.problems[0].path, "/srv/source");
}

// The kernel reports the requested length even where nothing moved.
TEST_F(PlanRunTest, BytesOfTheKernelAreNotBelieved) {
  const auto [keep, drop] = OfferPair();
  volume().AnswerAlways(last_file_, {.pretends = true});
  WorkAndVerify();
  EXPECT_EQ(totals().bytes_shared, 0);
  EXPECT_EQ(totals().bytes_freed, 0);
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
  EXPECT_LE(volume().dedupe_pairs(), 2);
}

// Half of an extent was moved: shared, but not freed.
TEST_F(PlanRunTest, MovesOfAFailedDropAreSharedAndNotFreed) {
  const uint64_t keep = FileOf("abcdefgh");
  const uint64_t drop = FileOf("abcdefgh");
  const InodeId second = volume().AddFile("second");
  volume().MapExtent(second, drop, {});
  Offer(on_.GroupOf({keep, drop}));
  for (int i = 0; i < 2; ++i) volume().MapExtent(volume().AddFile("k"), keep, {});
  volume().AnswerAlways(second, {.status = -ETXTBSY});
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Pinned(Holder::kSwapfile));
  EXPECT_EQ(totals().bytes_shared, 8 * kBlock);
  EXPECT_EQ(totals().bytes_freed, 0);
}

TEST_F(PlanRunTest, ReadonlyMountEndsTheRunAndSaysSo) {
  const auto [keep, drop] = OfferPair();
  volume().AnswerAlways(last_file_, {.status = -EROFS});
  report_.mount = "/mnt";
  WorkAndVerify();
  EXPECT_TRUE(run().ended_early());
  EXPECT_THAT(ProblemReasons(), ElementsAre("read-only mount"));
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
}

TEST_F(PlanRunTest, FullMetadataEndsTheRunAndSaysSo) {
  const auto [keep, drop] = OfferPair();
  volume().AnswerAlways(last_file_, {.status = -ENOSPC});
  WorkAndVerify();
  EXPECT_TRUE(run().ended_early());
  EXPECT_THAT(report_.stopped_because, Not(IsEmpty()));
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
}

TEST_F(PlanRunTest, MissingCallIsAnErrorOfTheVolume) {
  OfferPair();
  volume().FailCalls(std::vector<int>(10, ENOTTY));
  EXPECT_THAT(Work(), HasCode(absl::StatusCode::kUnimplemented));
}

// ---- Errors of one extent

// One damaged leaf must not keep the other terabytes from being worked on.
TEST_F(PlanRunTest, UnreadableExtentIsAProblemAndTheRunGoesOn) {
  const auto [bad_keep, bad_drop] = OfferPair();
  const auto [keep, drop] = OfferPair("stuv");
  volume().FailReferences(bad_drop, absl::DataLossError("bad leaf"));
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kFreed));
  EXPECT_THAT(ResultOf(bad_drop), Just(Outcome::kRetry));
  EXPECT_THAT(ProblemReasons(), ElementsAre("read error"));
}

// Without the privilege nothing works: said once, not for a million extents.
TEST_F(PlanRunTest, FileThatCannotBeOpenedIsAProblemWithAReason) {
  const auto [keep, drop] = OfferPair();
  volume().FailOpen(last_file_, absl::UnknownError("odd"));
  WorkAndVerify();
  EXPECT_THAT(ResultOf(drop), Pinned(Holder::kRefused));
  ASSERT_THAT(ProblemReasons(), ElementsAre("refused"));
  EXPECT_EQ(report_.problems[0].detail, "it could not be opened");
}

// Exit 2 with the limit's own name, said once.
TEST_F(PlanRunTest, TooManyOpenFilesAreAProblemAndTriedAgain) {
  report_.mount = "/mnt";
  std::vector<uint64_t> drops;
  for (const char* blocks : {"abcd", "efgh", "ijkl"}) {
    drops.push_back(OfferPair(blocks).second);
    volume().FailOpen(last_file_, StatusFromErrno(EMFILE, "opening"));
  }
  WorkAndVerify();
  for (const uint64_t drop : drops) EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
  EXPECT_THAT(report_.counters.skipped, ElementsAre(Pair("too many open files", 3)));
  ASSERT_THAT(ProblemReasons(), ElementsAre("too many open files"));
  EXPECT_EQ(report_.problems[0].path, "/mnt");
  EXPECT_THAT(report_.problems[0].detail, HasSubstr("ulimit -n"));
}

TEST_F(PlanRunTest, MissingPrivilegeEndsTheVolume) {
  const auto [keep, drop] = OfferPair();
  volume().FailReferences(drop, absl::PermissionDeniedError("CAP_SYS_ADMIN"));
  EXPECT_THAT(Work(), HasCode(absl::StatusCode::kPermissionDenied));
}

TEST_F(PlanRunTest, LostCoordinatorEndsTheVolume) {
  OfferPair();
  coordinator_.results_error = absl::UnavailableError("gone");
  EXPECT_THAT(Work(), HasCode(absl::StatusCode::kUnavailable));
}

// ---- Reports

TEST_F(PlanRunTest, BytesHeldBackByAPatternAreNoted) {
  on_.Exclude({"*.iso"});
  const uint64_t a = FileOf("abcd");
  const uint64_t b = volume().Append(volume().AddFile("x.iso"), "abcd");
  Offer(on_.GroupOf({a, b}));
  WorkAndVerify();
  EXPECT_THAT(report_.excluded_bytes, ElementsAre(Pair("*.iso", 4 * kBlock)));
}

TEST_F(PlanRunTest, ProgressIsThatOfTheWork) {
  OfferPair();
  WorkAndVerify();
  EXPECT_EQ(progress_.moved_bytes.load(), 8 * kBlock);
  EXPECT_EQ(progress_.dedupe_requests.load(), 1);
  EXPECT_EQ(progress_.file_bytes_read.load(), 16 * kBlock);
  EXPECT_EQ(progress_.plan_bytes_done.load(), 8 * kBlock);
}

// A second run over the same plan, as the index would offer it before it has heard anything.
TEST_F(PlanRunTest, SecondRunMakesNoRequest) {
  OfferPair();
  WorkAndVerify();
  const int64_t pairs = volume().dedupe_pairs();
  run_.reset();
  WorkAndVerify();
  EXPECT_EQ(volume().dedupe_pairs(), pairs);
  EXPECT_EQ(totals().bytes_freed, 0);
}

}  // namespace
}  // namespace onefold
