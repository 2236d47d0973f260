#include "cli/progress_status.h"

#include <gtest/gtest.h>

namespace onefold {
namespace {

TEST(ProgressStatusTest, OfTheVolumeThatIsWorkedOn) {
  Progress progress;
  progress.volume_index = 1;
  progress.phase = Progress::Phase::kScanning;
  progress.scan_bytes_done = 50;
  progress.scan_bytes_total = 200;
  progress.extents_scanned = 7;
  v1::RunStatus status = StatusOf(progress, "run", absl::Seconds(3));
  EXPECT_EQ(status.run_id(), "run");
  EXPECT_EQ(status.phase(), v1::RUN_PHASE_SCAN);
  EXPECT_EQ(status.phase_fraction(), 0.25);
  EXPECT_EQ(status.figures().extents_scanned(), 7);
  EXPECT_FALSE(status.figures().has_bytes_freed());  // known at the end
  EXPECT_EQ(status.elapsed().seconds(), 3);
  progress.volume_index = 2;
  progress.phase = Progress::Phase::kDeduping;
  progress.plan_bytes_done = 300;
  progress.plan_bytes_total = 200;
  status = StatusOf(progress, "run", absl::Seconds(3));
  EXPECT_EQ(status.run_id(), "run-2");
  EXPECT_EQ(status.phase(), v1::RUN_PHASE_FOLD);
  EXPECT_EQ(status.phase_fraction(), 1);
}

}  // namespace
}  // namespace onefold
