#include "worker/daemon/run_figures.h"

#include "common/escape.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

VolumeReport Part(int64_t freed) {
  VolumeReport part;
  part.counters.bytes_freed = freed;
  part.counters.extents_total = freed + 1;
  part.counters.bytes_pinned = freed;
  part.counters.pinned_by = {{"snapshot", freed}};
  part.counters.skipped = {{"changed", 1}};
  AddProblem(part, {.reason = "read error", .path = "/\xff", .detail = "\xff"});
  return part;
}

TEST(RunFiguresTest, PartsAddUp) {
  v1::RunStatus status;
  AddPart(Part(5), false, status);
  AddPart(Part(7), false, status);
  EXPECT_EQ(status.figures().bytes_freed(), 12);
  EXPECT_EQ(status.figures().extents_total(), 8);
  EXPECT_EQ(status.figures().bytes_pinned(), 7);
  EXPECT_EQ(status.figures().pinned_by().at("snapshot"), 7);
  EXPECT_EQ(status.figures().skipped().at("changed"), 2);
  EXPECT_EQ(status.problem_count(), 2);
  EXPECT_EQ(status.problems(0).path(), "/\xff");
  EXPECT_TRUE(IsUtf8(status.problems(0).detail()));
  EXPECT_FALSE(status.figures().has_bytes_shared());
}

// "0 bytes freed" of a run that was killed would be a lie.
TEST(RunFiguresTest, WhatALostPartDidStaysUnknown) {
  v1::RunStatus status;
  AddPart(Part(5), false, status);
  ForgetFigures(*status.mutable_figures());
  EXPECT_FALSE(status.figures().has_bytes_freed());
  AddPart(Part(7), true, status);
  EXPECT_FALSE(status.figures().has_bytes_freed());
  EXPECT_EQ(status.figures().extents_total(), 8);
}

TEST(RunFiguresTest, LiveFiguresComeOnTopAndFreedIsNotKnownYet) {
  v1::RunStatus status;
  AddPart(Part(5), false, status);
  status.mutable_figures()->set_dedupe_requests(10);
  Progress progress;
  progress.phase = Progress::Phase::kDeduping;
  progress.plan_bytes_total = 100;
  progress.plan_bytes_done = 25;
  progress.dedupe_requests = 3;
  AddLive(progress, false, status);
  EXPECT_EQ(status.phase(), v1::RUN_PHASE_FOLD);
  EXPECT_EQ(status.phase_fraction(), 0.25);
  EXPECT_EQ(status.figures().dedupe_requests(), 13);
  EXPECT_FALSE(status.figures().has_bytes_freed());
}

TEST(RunFiguresTest, TextsFitTheWire) {
  const std::string text = WireText(std::string(1023, 'a') + "ü and more");
  EXPECT_LE(text.size(), 1024u);
  EXPECT_TRUE(IsUtf8(text));
  EXPECT_TRUE(IsUtf8(WireText("a\xff")));
}

}  // namespace
}  // namespace onefold
