// What the tests of PlanRun share: a volume, a coordinator that offers groups, and what came of
// them.

#ifndef ONEFOLD_WORKER_TESTING_PLAN_RUN_FIXTURE_H_
#define ONEFOLD_WORKER_TESTING_PLAN_RUN_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/plan_run.h"
#include "worker/testing/fake_coordinator.h"
#include "worker/testing/scoped_volume.h"

namespace onefold {

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
  static auto Pinned(Holder holder) { return ::testing::Pair(Outcome::kPinned, holder); }
  static auto Just(Outcome outcome) { return ::testing::Pair(outcome, Holder::kNone); }
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

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_PLAN_RUN_FIXTURE_H_
