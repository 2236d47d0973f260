// What to show of a run that is under way: rates, time left, and lines that fit. Pure; the printer
// (progress_printer.h) has the thread and the terminal.

#ifndef ONEFOLD_CLI_PROGRESS_VIEW_H_
#define ONEFOLD_CLI_PROGRESS_VIEW_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "worker/progress.h"

namespace onefold {

// A moment of Progress.
struct ProgressSample {
  Progress::Phase phase = Progress::Phase::kStarting;
  int64_t scan_bytes_done = 0;
  int64_t scan_bytes_total = 0;
  int64_t plan_bytes_done = 0;
  int64_t plan_bytes_total = 0;
  int64_t moved_bytes = 0;
  int64_t extents_scanned = 0;
  int64_t dedupe_requests = 0;
  int64_t file_bytes_read = 0;
  int volume_index = 0;
  int volume_count = 0;
  std::string volume;  // raw bytes
};

ProgressSample TakeSample(Progress& progress);

// The sample and what follows from it and its predecessors.
struct ProgressView {
  ProgressSample now;
  absl::Duration elapsed;
  // Of the phase; 0 of 0 where it has no measure.
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;
  std::optional<int64_t> bytes_per_second;
  // Until the end of the job, as far as that is known.
  std::optional<absl::Duration> left;
  // The end of the job is further away than `left`: there is more to come that is not known yet
  // (the plan follows the scan, another volume follows this one).
  bool more_follows = false;
};

// Turns samples into views. Not thread-safe.
class ProgressModel {
 public:
  // `elapsed`: since the start of the run; must not go backwards.
  ProgressView Update(const ProgressSample& sample, absl::Duration elapsed);

 private:
  struct Point {
    absl::Duration at;
    int64_t done = 0;
  };
  Progress::Phase phase_ = Progress::Phase::kStarting;
  int volume_index_ = 0;
  std::deque<Point> points_;  // of this phase and volume, oldest first
};

// "scanning", "planning", …
const char* PhaseName(Progress::Phase phase);

// One line without control characters, at most `column_max` columns wide. What matters least is
// left out first.
std::string StatusLine(const ProgressView& view, bool dry_run, int column_max);

// One line for a log.
std::string PlainLine(const ProgressView& view, bool dry_run);

}  // namespace onefold

#endif  // ONEFOLD_CLI_PROGRESS_VIEW_H_
