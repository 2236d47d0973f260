#include "worker/plan_run.h"

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_coordinator.h"
#include "worker/testing/scoped_volume.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr int64_t kBlock = 4096;

class PlanRunTest : public ::testing::Test {
 protected:
  FakeVolume& volume() { return on_.volume; }

  uint64_t FileOf(const Blocks& blocks, const FakeVolume::FileOptions& options) {
    last_file_ = volume().AddFile("f", options);
    return volume().Append(last_file_, blocks);
  }
  uint64_t FileOf(const Blocks& blocks) { return FileOf(blocks, {}); }

  void Offer(const Group& group, PlanKind kind = PlanKind::kWhole) {
    coordinator_.plan[kind].push_back(group);
  }
  // Two equal files, offered; returns (kept, dropped).
  std::pair<uint64_t, uint64_t> OfferPair(const Blocks& blocks = "abcdefgh") {
    const uint64_t keep = FileOf(blocks);
    const uint64_t drop = FileOf(blocks);
    Offer(on_.GroupOf({keep, drop}));
    return {keep, drop};
  }

  PlanRun& run() {
    if (!run_) {
      const auto space = volume().Space();
      run_ = std::make_unique<PlanRun>(PlanRun::Parts{.volume = volume(),
                                                      .coordinator = coordinator_,
                                                      .scope = on_.scope,
                                                      .subvolumes = on_.subvolumes,
                                                      .limits = on_.limits,
                                                      .excludes = on_.excludes,
                                                      .stop = stop_,
                                                      .progress = progress_,
                                                      .report = report_},
                                       options_, *space);
    }
    return *run_;
  }
  absl::Status Work(PlanKind kind = PlanKind::kWhole) { return run().Work(kind); }
  void WorkAndVerify(PlanKind kind = PlanKind::kWhole) {
    EXPECT_THAT(Work(kind), IsOk());
    EXPECT_THAT(run().Verify(), IsOk());
    EXPECT_EQ(volume().inode_clashes(), 0);
    EXPECT_EQ(volume().reference_clashes(), 0);
  }
  const PlanTotals& totals() { return run().totals(); }

  std::pair<Outcome, Holder> ResultOf(uint64_t address) {
    const auto results = coordinator_.ResultByAddress();
    const auto result = results.find(address);
    if (result == results.end()) return {};
    return {result->second.outcome, result->second.holder};
  }
  static auto Pinned(Holder holder) { return Pair(Outcome::kPinned, holder); }
  static auto Just(Outcome outcome) { return Pair(outcome, Holder::kNone); }
  std::vector<std::string> ProblemReasons() {
    std::vector<std::string> reasons;
    for (const Problem& problem : report_.problems) reasons.push_back(problem.reason);
    return reasons;
  }

  ScopedVolume on_;
  FakeCoordinator coordinator_;
  StopSignal stop_;
  Progress progress_;
  VolumeReport report_;
  PlanOptions options_ = {.execute_threads = 2, .settle_threads = 2};
  std::unique_ptr<PlanRun> run_;
  InodeId last_file_;
};

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
        AnswerCase{-EIO, Outcome::kPinned, Holder::kRefused, nullptr, "read error"},
        AnswerCase{-EUCLEAN, Outcome::kPinned, Holder::kRefused, nullptr, "read error"},
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

// ---- Groups that clash

// One group would drop what another one reads from: they take turns, and both get what they wanted.
TEST_F(PlanRunTest, ClashingGroupsTakeTurns) {
  const uint64_t big = FileOf(Blocks::Series(1, 100));
  const uint64_t middle = FileOf(Blocks::Series(1, 40, 20));
  const uint64_t small = FileOf(Blocks::Series(1, 10, 30));
  Offer(on_.InsideGroup(small, middle, 10), PlanKind::kInside);  // reads from `middle`
  Offer(on_.InsideGroup(middle, big, 20), PlanKind::kInside);    // drops it
  WorkAndVerify(PlanKind::kInside);
  EXPECT_THAT(ResultOf(small), Just(Outcome::kFreed));
  EXPECT_THAT(ResultOf(middle), Just(Outcome::kFreed));
  EXPECT_EQ(volume().DataBytes(), 100 * kBlock);
  EXPECT_EQ(totals().bytes_freed, 50 * kBlock);
}

// A file of many extents is found by each of them; it is dropped, and counted, once.
TEST_F(PlanRunTest, ExtentOfManyHitsIsDroppedOnce) {
  const uint64_t image = FileOf(Blocks::Series(1, 100));
  const InodeId file = volume().AddFile("f");
  std::vector<uint64_t> extents;
  for (int64_t at = 0; at < 50; at += 5)
    extents.push_back(volume().Append(file, Blocks::Series(1, 5, at)));
  for (size_t i = 0; i < extents.size(); ++i) {
    Offer(on_.InsideGroup(extents[i], image, 5 * static_cast<int64_t>(i)), PlanKind::kInside);
  }
  WorkAndVerify(PlanKind::kInside);
  EXPECT_EQ(totals().bytes_freed, 50 * kBlock);
  EXPECT_EQ(volume().DataBytes(), 100 * kBlock);
  EXPECT_LE(volume().dedupe_pairs(), 10);
}

// Two sides of one pair, found from both: one of them stays.
TEST_F(PlanRunTest, PairFoundFromBothSidesLosesOne) {
  const InodeId a = volume().AddFile("a");
  const std::vector<uint64_t> of_a = {volume().Append(a, Blocks::Series(1, 48)),
                                      volume().Append(a, Blocks::Series(1, 80, 48))};
  const InodeId b = volume().AddFile("b");
  const std::vector<uint64_t> of_b = {volume().Append(b, Blocks::Series(1, 64)),
                                      volume().Append(b, Blocks::Series(1, 64, 64))};
  Offer(on_.InsideGroup(of_a[0], of_b[0], 0), PlanKind::kInside);
  Offer(on_.InsideGroup(of_b[0], of_a[0], 0), PlanKind::kInside);
  Offer(on_.InsideGroup(of_b[1], of_a[1], 16), PlanKind::kInside);
  Offer(on_.InsideGroup(of_a[1], of_b[0], 48), PlanKind::kInside);
  WorkAndVerify(PlanKind::kInside);
  EXPECT_EQ(volume().DataBytes(), 128 * kBlock);
  EXPECT_EQ(totals().bytes_freed, 128 * kBlock);
  EXPECT_EQ(volume().Contents(a), Blocks::Series(1, 128));
  EXPECT_EQ(volume().Contents(b), Blocks::Series(1, 128));
}

// ---- Groups in pages

// A group of thousands comes in pages that share their first member. It must end as one extent, not
// as one for each page, and nothing may be counted twice.
TEST_F(PlanRunTest, PagedGroupEndsAsOneExtent) {
  std::vector<uint64_t> extents;
  for (int i = 0; i < 9; ++i) extents.push_back(FileOf("abcdefgh"));
  // The keep rules prefer another one in each page than the one that leads it.
  for (const size_t popular : {3, 5, 8})
    volume().MapExtent(volume().AddFile("r"), extents[popular], {});
  for (const std::vector<size_t>& page :
       std::vector<std::vector<size_t>>{{0, 1, 2, 3}, {0, 4, 5}, {0, 6, 7, 8}}) {
    Group group;
    for (const size_t i : page) group.members.push_back(on_.Member(extents[i]));
    group.paged = true;
    group.digest = 77;
    Offer(group);
  }
  WorkAndVerify();
  EXPECT_EQ(volume().DataBytes(), 8 * kBlock);
  EXPECT_EQ(totals().bytes_freed, 8 * 8 * kBlock);
}

TEST_F(PlanRunTest, PagedGroupCountsNothingTwice) {
  std::vector<uint64_t> extents;
  for (int i = 0; i < 5; ++i) extents.push_back(FileOf("abcdefgh"));
  for (const size_t popular : {2, 4})
    volume().MapExtent(volume().AddFile("r"), extents[popular], {});
  const int64_t before = volume().DataBytes();
  for (const std::vector<size_t>& page : std::vector<std::vector<size_t>>{{0, 1, 2}, {0, 3, 4}}) {
    Group group;
    for (const size_t i : page) group.members.push_back(on_.Member(extents[i]));
    group.paged = true;
    group.digest = 77;
    Offer(group);
  }
  WorkAndVerify();
  EXPECT_EQ(totals().bytes_freed, before - volume().DataBytes());
}

// ---- What does not pay

// Measured: 5,000 pairs of 8 KiB under 20 snapshots grew metadata by more than they freed.
TEST_F(PlanRunTest, SmallGainUnderManySnapshotsIsPinnedByMetadata) {
  volume().AddSubvolume(300, {.name = "home"});
  const uint64_t a = FileOf("ab", {.subvolume = 300});
  const uint64_t b = FileOf("ab", {.subvolume = 300});
  for (uint64_t id = 301; id < 321; ++id) {
    volume().AddSubvolume(id, {.name = "s" + std::to_string(id), .snapshot_of = 300});
  }
  Offer(on_.GroupOf({a, b}));
  WorkAndVerify();
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
  EXPECT_THAT(ResultOf(b), Pinned(Holder::kMetadata));
}

TEST_F(PlanRunTest, LittleRoomForMetadataEndsTheRunBeforeItBegins) {
  options_.metadata_floor_bytes = 1 << 30;
  OfferPair();
  volume().SetSpace({.metadata_used = 900 << 20, .metadata_total = 1 << 30, .reserved = 64 << 20});
  WorkAndVerify();
  EXPECT_TRUE(run().ended_early());
  EXPECT_THAT(report_.stopped_because, HasSubstr("60 MiB"));
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
  EXPECT_THAT(coordinator_.results(), IsEmpty()) << "all of it waits for the next run";
}

// Unallocated space becomes metadata when it is needed, in as many copies as there are.
TEST_F(PlanRunTest, UnallocatedSpaceIsRoomForMetadata) {
  options_.metadata_floor_bytes = 1 << 30;
  const auto [keep, drop] = OfferPair();
  SpaceInfo space{.metadata_used = 1 << 30, .metadata_total = 1 << 30, .metadata_copies = 2};
  space.unallocated = (int64_t{2} << 30) - 2;
  volume().SetSpace(space);
  WorkAndVerify();
  EXPECT_TRUE(run().ended_early());
  run_.reset();
  report_ = {};
  space.unallocated = int64_t{2} << 30;
  volume().SetSpace(space);
  WorkAndVerify();
  EXPECT_FALSE(run().ended_early());
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kFreed));
}

TEST_F(PlanRunTest, DryRunNeedsNoRoom) {
  options_.dry_run = true;
  options_.metadata_floor_bytes = 1 << 30;
  OfferPair();
  volume().SetSpace({});
  WorkAndVerify();
  EXPECT_FALSE(run().ended_early());
  EXPECT_EQ(totals().bytes_freeable, 8 * kBlock);
}

// ---- Signals

TEST_F(PlanRunTest, NothingStartsAfterTheSignal) {
  OfferPair();
  stop_.Request(StopSignal::Reason::kInterrupted);
  WorkAndVerify();
  EXPECT_THAT(volume().dedupe_calls(), IsEmpty());
  EXPECT_THAT(coordinator_.results(), IsEmpty());
}

// What was done counts, what was not stays queued.
TEST_F(PlanRunTest, SignalInTheMiddleKeepsWhatWasDone) {
  options_.execute_threads = 1;
  options_.destinations_max = 1;
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (uint32_t i = 0; i < 6; ++i) pairs.push_back(OfferPair(Blocks::Series(i, 8)));
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t number) {
    if (number == 2) stop_.Request(StopSignal::Reason::kInterrupted);
  });
  WorkAndVerify();
  EXPECT_EQ(volume().dedupe_calls().size(), 3u);
  EXPECT_EQ(totals().bytes_freed, 24 * kBlock);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Outcome outcome = ResultOf(pairs[i].second).first;
    EXPECT_EQ(outcome, i < 3 ? Outcome::kFreed : Outcome::kRetry) << i;
  }
  EXPECT_THAT(report_.counters.skipped, IsEmpty()) << "being interrupted is no fault of the files";
}

// A signal between the first and the second try of a verification.
TEST_F(PlanRunTest, NoSecondTryAfterTheSignal) {
  volume().AddSubvolume(300, {.name = "home"});
  const uint64_t keep = FileOf("abcdefgh");
  const uint64_t drop = FileOf("abcdefgh", {.subvolume = 300});
  Offer(on_.GroupOf({keep, drop}));
  volume().BeforeDedupe([&](const FakeVolume::DedupeCall&, size_t) {
    volume().AddSubvolume(301, {.name = "snap", .snapshot_of = 300});
    stop_.Request(StopSignal::Reason::kInterrupted);
  });
  WorkAndVerify();
  EXPECT_EQ(volume().dedupe_calls().size(), 1u);
  EXPECT_THAT(ResultOf(drop), Just(Outcome::kRetry));
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
