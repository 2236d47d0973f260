#include "coordinator/fleet/run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/fleet/limits.h"

namespace onefold::fleet {
namespace {

// Applies `copy(get, has, set)` to every figure that may be unknown, in both directions.
template <typename From, typename To>
void CopyFigures(const From& from, To& to) {
  if (from.has_extents_total()) to.set_extents_total(from.extents_total());
  if (from.has_extents_scanned()) to.set_extents_scanned(from.extents_scanned());
  if (from.has_bytes_scanned()) to.set_bytes_scanned(from.bytes_scanned());
  if (from.has_file_bytes_read()) to.set_file_bytes_read(from.file_bytes_read());
  if (from.has_dedupe_requests()) to.set_dedupe_requests(from.dedupe_requests());
  if (from.has_bytes_shared()) to.set_bytes_shared(from.bytes_shared());
  if (from.has_bytes_freed()) to.set_bytes_freed(from.bytes_freed());
  if (from.has_bytes_written()) to.set_bytes_written(from.bytes_written());
  if (from.has_bytes_pinned()) to.set_bytes_pinned(from.bytes_pinned());
  if (from.has_metadata_bytes_grown()) to.set_metadata_bytes_grown(from.metadata_bytes_grown());
  if (from.has_bytes_expected()) to.set_bytes_expected(from.bytes_expected());
  for (const auto& [holder, bytes] : from.pinned_by()) (*to.mutable_pinned_by())[holder] = bytes;
  for (const auto& [reason, count] : from.skipped()) (*to.mutable_skipped())[reason] = count;
}

absl::Duration ElapsedOf(const v1::RunStatus& status) {
  return absl::Seconds(status.elapsed().seconds()) + absl::Nanoseconds(status.elapsed().nanos());
}

}  // namespace

bool IsEnded(v1::RunState state) { return state >= v1::RUN_STATE_COMPLETED; }

bool FleetRun::ended() const { return IsEnded(state()); }

absl::Status CheckRunStatus(const v1::RunStatus& status) {
  const v1::RunFigures& figures = status.figures();
  if (status.run_id().empty() || status.run_id().size() > kRunIdBytesMax) {
    return absl::InvalidArgumentError("run: run_id is not valid");
  }
  if (!v1::RunState_IsValid(status.state()) || status.state() == v1::RUN_STATE_UNSPECIFIED) {
    return absl::InvalidArgumentError("run: state is not valid");
  }
  size_t bytes = 0;
  for (const v1::RunProblem& problem : status.problems()) bytes += problem.ByteSizeLong();
  if (status.problems_size() > kProblemsMax || figures.pinned_by_size() > kReasonsMax ||
      figures.skipped_size() > kReasonsMax || status.message().size() > kSentenceBytesMax ||
      status.throttled_by().size() > kSentenceBytesMax || status.ByteSizeLong() - bytes > 16'384 ||
      bytes > int64_t{kProblemsMax} * 3 * kPathBytesMax) {
    return absl::InvalidArgumentError("run: more text than a report may have");
  }
  return absl::OkStatus();
}

storage::v1::FleetRunResult ToResult(const v1::RunStatus& status) {
  storage::v1::FleetRunResult result;
  result.set_message(status.message());
  CopyFigures(status.figures(), result);
  size_t bytes = 0;
  for (const v1::RunProblem& from : status.problems()) {
    bytes += from.ByteSizeLong();
    if (bytes > kProblemBytesMax) break;
    storage::v1::FleetRunProblem& to = *result.add_problems();
    to.set_reason(from.reason());
    to.set_path(from.path());
    to.set_detail(from.detail());
  }
  result.set_problem_count(status.problem_count());
  result.set_elapsed_millis(absl::ToInt64Milliseconds(ElapsedOf(status)));
  return result;
}

v1::RunStatus ToStatus(const storage::v1::FleetRunRecord& record) {
  const storage::v1::FleetRunResult& result = record.result();
  v1::RunStatus status;
  status.set_run_id(record.run_id());
  status.set_state(static_cast<v1::RunState>(record.state()));
  status.set_phase(v1::RUN_PHASE_DONE);
  status.set_message(result.message());
  CopyFigures(result, *status.mutable_figures());
  for (const storage::v1::FleetRunProblem& from : result.problems()) {
    v1::RunProblem& to = *status.add_problems();
    to.set_reason(from.reason());
    to.set_path(from.path());
    to.set_detail(from.detail());
  }
  status.set_problem_count(result.problem_count());
  status.mutable_elapsed()->set_seconds(result.elapsed_millis() / 1000);
  status.mutable_elapsed()->set_nanos(
      static_cast<int32_t>(result.elapsed_millis() % 1000 * 1'000'000));
  return status;
}

void EndRun(FleetRun& run, v1::RunState state, const v1::RunStatus& status, absl::Time now) {
  run.set_state(state);
  run.set_wish(Wish::kNone);
  run.record.set_end_unix_seconds(absl::ToUnixSeconds(now));
  run.record.clear_rules_yaml();
  *run.record.mutable_result() = ToResult(status);
  run.rules = nullptr;
  run.live = ToStatus(run.record);
  run.waits_for.clear();
}

void EndRun(FleetRun& run, v1::RunState state, absl::string_view message, absl::Time now) {
  run.set_state(state);
  run.set_wish(Wish::kNone);
  run.record.set_end_unix_seconds(absl::ToUnixSeconds(now));
  run.record.clear_rules_yaml();
  run.rules = nullptr;
  run.live.set_state(state);
  run.live.set_message(std::string(message));
  run.waits_for.clear();
}

void StopRun(FleetRun& run, const v1::RunStatus& status, absl::Time now) {
  switch (run.wish()) {
    case Wish::kCancel: EndRun(run, v1::RUN_STATE_CANCELLED, status, now); return;
    case Wish::kPause: run.set_state(v1::RUN_STATE_PAUSED); break;
    case Wish::kNone: run.set_state(v1::RUN_STATE_WAITING); break;
  }
  // A new index was begun when it first began; to go on is not to begin again.
  if (run.record.start_unix_seconds() != 0) run.record.set_full(false);
  run.live = status;
}

bool TakeReport(FleetRun& run, const v1::RunStatus& status, bool stop_wanted, absl::Time now) {
  if (run.ended()) {
    // It was given up, and its worker has an end to tell after all: a fact, once.
    if (!IsEnded(status.state()) || run.record.has_result()) return false;
    *run.record.mutable_result() = ToResult(status);
    run.live = ToStatus(run.record);
    return true;
  }
  if (IsEnded(status.state())) {
    if (run.record.start_unix_seconds() == 0) {  // it was faster than its reports
      run.record.set_start_unix_seconds(absl::ToUnixSeconds(now));
    }
    EndRun(run, status.state(), status, now);
    return true;
  }
  if (run.state() != v1::RUN_STATE_RUNNING) return false;
  if (status.state() == v1::RUN_STATE_RUNNING) {
    run.live = status;
    if (run.record.start_unix_seconds() != 0) return false;
    run.record.set_start_unix_seconds(absl::ToUnixSeconds(now));
    return true;
  }
  // Stopped, but not yet as a person wants it: its end, with figures, is still to come.
  if (run.wish() == Wish::kCancel) return false;
  // A stop that belongs to an earlier beginning says nothing of this one; and one that is not
  // wanted any more will hear that it may go on.
  if (status.attempt() != 0 && status.attempt() != run.record.attempt()) return false;
  if (status.state() == v1::RUN_STATE_PAUSED && !stop_wanted) return false;
  StopRun(run, status, now);
  return true;
}

bool TakeSilence(FleetRun& run, bool stop_wanted, absl::Time now) {
  if (run.state() != v1::RUN_STATE_RUNNING || !stop_wanted) return false;
  if (run.wish() == Wish::kCancel) {
    EndRun(run, v1::RUN_STATE_CANCELLED, "cancelled; the worker told nothing of it", now);
  } else {
    StopRun(run, run.live, now);
  }
  return true;
}

void AddToTotals(const storage::v1::FleetRunRecord& run, storage::v1::FleetTotals& totals) {
  if (run.dry_run()) return;
  totals.set_run_count(totals.run_count() + 1);
  totals.set_freed_bytes(totals.freed_bytes() + std::max<int64_t>(run.result().bytes_freed(), 0));
  totals.set_shared_bytes(totals.shared_bytes() +
                          std::max<int64_t>(run.result().bytes_shared(), 0));
  if (!run.result().has_bytes_freed()) totals.set_incomplete(true);
}

}  // namespace onefold::fleet
