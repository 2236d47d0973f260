#include "cli/run_summary.h"

#include <csignal>

namespace onefold {
namespace {

using Figure = std::optional<int64_t> RunCounters::*;

constexpr Figure kFigures[] = {
    &RunCounters::extents_total,   &RunCounters::extents_scanned,
    &RunCounters::bytes_scanned,   &RunCounters::file_bytes_read,
    &RunCounters::dedupe_requests, &RunCounters::bytes_shared,
    &RunCounters::bytes_freed,     &RunCounters::bytes_written,
    &RunCounters::bytes_pinned,    &RunCounters::metadata_bytes_grown,
    &RunCounters::bytes_freeable,  &RunCounters::bytes_relocatable,
    &RunCounters::bytes_shareable,
};

}  // namespace

const char* OutcomeName(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kCompleted: return "completed";
    case RunOutcome::kIncomplete: return "incomplete";
    case RunOutcome::kTimeLimit: return "time_limit";
    case RunOutcome::kInterrupted: return "interrupted";
    case RunOutcome::kRefused: return "refused";
  }
  return "unknown";
}

RunCounters Totals(const RunReport& report) {
  RunCounters totals;
  for (const Figure figure : kFigures) {
    // Of no volume, what was done is nothing, and what there is is not known.
    const bool of_work =
        figure != &RunCounters::extents_total && figure != &RunCounters::bytes_freeable &&
        figure != &RunCounters::bytes_shareable && figure != &RunCounters::bytes_relocatable &&
        figure != &RunCounters::bytes_pinned;
    totals.*figure = of_work || !report.volumes.empty() ? std::optional<int64_t>(0) : std::nullopt;
    for (const VolumeReport& volume : report.volumes) {
      const std::optional<int64_t> part = volume.counters.*figure;
      if (!part.has_value()) {
        totals.*figure = std::nullopt;
        break;
      }
      *(totals.*figure) += *part;
    }
  }
  for (const VolumeReport& volume : report.volumes) {
    for (const auto& [holder, bytes] : volume.counters.pinned_by) totals.pinned_by[holder] += bytes;
    for (const auto& [reason, count] : volume.counters.skipped) totals.skipped[reason] += count;
  }
  return totals;
}

int64_t ProblemCount(const RunReport& report) {
  int64_t count = static_cast<int64_t>(report.problems.size());
  for (const VolumeReport& volume : report.volumes) count += volume.problems_total;
  return count;
}

RunOutcome FinalOutcome(RunOutcome stopped, const RunReport& report) {
  if (stopped == RunOutcome::kInterrupted) return stopped;
  if (ProblemCount(report) > 0) return RunOutcome::kIncomplete;
  for (const VolumeReport& volume : report.volumes) {
    if (!volume.stopped_because.empty() && !report.dry_run) return RunOutcome::kIncomplete;
  }
  return stopped;
}

int ExitCode(RunOutcome outcome, int signal) {
  switch (outcome) {
    case RunOutcome::kCompleted:
    case RunOutcome::kTimeLimit: return kExitDone;
    case RunOutcome::kIncomplete: return kExitIncomplete;
    case RunOutcome::kRefused: return kExitRefused;
    case RunOutcome::kInterrupted: return kExitSignalBase + (signal != 0 ? signal : SIGINT);
  }
  return kExitRefused;
}

}  // namespace onefold
