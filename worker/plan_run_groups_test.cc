// How PlanRun deals with groups that meet, come in pages, do not pay, or are interrupted.

#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/plan_run.h"
#include "worker/testing/plan_run_fixture.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBlock = 4096;

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

// Thousands of small extents may find their match in one large extent that many files refer to: its
// references are looked up once a batch, not once for each.
TEST_F(PlanRunTest, PlaceOfManyReferencesIsLookedUpOnce) {
  const uint64_t image = FileOf(Blocks::Series(1, 100));
  for (int i = 0; i < 10; ++i) {
    volume().MapExtent(volume().AddFile("other"), image, {.at = 0, .from = 0, .blocks = 2});
  }
  for (int64_t at = 10; at < 90; at += 2) {
    Offer(on_.InsideGroup(FileOf(Blocks::Series(1, 2, at)), image, at), PlanKind::kInside);
  }
  options_.dry_run = true;
  options_.settle_threads = 1;
  WorkAndVerify(PlanKind::kInside);
  EXPECT_EQ(totals().bytes_freeable, 80 * kBlock);
  EXPECT_LE(volume().reference_look_ups(), 2);
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

// A later page brings one that cannot be dropped: what the first page kept lies down on it.
TEST_F(PlanRunTest, PagedGroupFollowsAKeepThatComesLate) {
  std::vector<uint64_t> extents;
  for (int i = 0; i < 6; ++i) {
    extents.push_back(FileOf("abcdefgh", {.flags = i == 4 ? InodeItem::kImmutable : uint64_t{0}}));
  }
  for (const std::vector<size_t>& page :
       std::vector<std::vector<size_t>>{{0, 1, 2}, {0, 3, 4}, {0, 5}}) {
    Group group;
    for (const size_t i : page) group.members.push_back(on_.Member(extents[i]));
    group.paged = true;
    group.digest = 77;
    Offer(group);
  }
  WorkAndVerify();
  EXPECT_EQ(volume().DataBytes(), 8 * kBlock);
  EXPECT_TRUE(volume().ExtentExists(extents[4]));
  EXPECT_EQ(totals().bytes_freed, 5 * 8 * kBlock);
}

// Pages that come in different batches.
TEST_F(PlanRunTest, PagedGroupEndsAsOneExtentOverBatches) {
  std::vector<uint64_t> extents;
  for (int i = 0; i < 7; ++i) extents.push_back(FileOf("abcdefgh"));
  for (const size_t popular : {2, 4, 6})
    volume().MapExtent(volume().AddFile("r"), extents[popular], {});
  for (const std::vector<size_t>& page :
       std::vector<std::vector<size_t>>{{0, 1, 2}, {0, 3, 4}, {0, 5, 6}}) {
    Group group;
    for (const size_t i : page) group.members.push_back(on_.Member(extents[i]));
    group.paged = true;
    group.digest = 77;
    coordinator_.plan[PlanKind::kWhole] = {group};
    ASSERT_THAT(Work(), IsOk());
  }
  ASSERT_THAT(run().Verify(), IsOk());
  EXPECT_EQ(volume().DataBytes(), 8 * kBlock);
  EXPECT_EQ(totals().bytes_freed, 6 * 8 * kBlock);
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

// A dry run says so, and still tells everything.
TEST_F(PlanRunTest, LittleRoomForMetadataIsSaidByADryRun) {
  options_.metadata_floor_bytes = 1 << 30;
  options_.dry_run = true;
  OfferPair();
  volume().SetSpace({.metadata_used = 900 << 20, .metadata_total = 1 << 30, .reserved = 64 << 20});
  WorkAndVerify();
  EXPECT_FALSE(run().ended_early());
  EXPECT_THAT(report_.stopped_because, HasSubstr("60 MiB"));
  EXPECT_GT(run().totals().bytes_freeable, 0);
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

}  // namespace
}  // namespace onefold
