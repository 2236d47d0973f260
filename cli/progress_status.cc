#include "cli/progress_status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

v1::RunPhase PhaseOf(Progress::Phase phase) {
  switch (phase) {
    case Progress::Phase::kStarting:
    case Progress::Phase::kScanning: return v1::RUN_PHASE_SCAN;
    case Progress::Phase::kPlanning: return v1::RUN_PHASE_MATCH;
    case Progress::Phase::kDeduping:
    case Progress::Phase::kSettling: return v1::RUN_PHASE_FOLD;
    case Progress::Phase::kDone: return v1::RUN_PHASE_DONE;
  }
  return v1::RUN_PHASE_UNSPECIFIED;
}

double Fraction(int64_t done, int64_t total) {
  if (total <= 0) return 0;
  return std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
}

}  // namespace

v1::RunStatus StatusOf(const Progress& progress, const std::string& run_id,
                       absl::Duration elapsed) {
  v1::RunStatus status;
  const int number = progress.volume_index;
  status.set_run_id(number > 1 ? absl::StrCat(run_id, "-", number) : run_id);
  status.set_state(v1::RUN_STATE_RUNNING);
  status.set_phase(PhaseOf(progress.phase));
  if (status.phase() == v1::RUN_PHASE_SCAN) {
    status.set_phase_fraction(Fraction(progress.scan_bytes_done, progress.scan_bytes_total));
  } else if (status.phase() == v1::RUN_PHASE_FOLD) {
    status.set_phase_fraction(Fraction(progress.plan_bytes_done, progress.plan_bytes_total));
  }
  v1::RunFigures& figures = *status.mutable_figures();
  figures.set_extents_scanned(progress.extents_scanned);
  figures.set_file_bytes_read(progress.file_bytes_read);
  figures.set_dedupe_requests(progress.dedupe_requests);
  status.mutable_elapsed()->set_seconds(absl::ToInt64Seconds(elapsed));
  return status;
}

}  // namespace onefold
