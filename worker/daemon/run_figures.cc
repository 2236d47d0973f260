#include "worker/daemon/run_figures.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/escape.h"

namespace onefold {
namespace {

// What the coordinator takes.
constexpr size_t kTextBytesMax = 1024;
constexpr size_t kPathBytesMax = 4096;
constexpr size_t kProblemBytesMax = 64 << 10;

using Figures = v1::RunFigures;

// One figure in both worlds.
struct Figure {
  std::optional<int64_t> RunCounters::*counter;
  bool (Figures::*has)() const;
  int64_t (Figures::*get)() const;
  void (Figures::*set)(int64_t);
  void (Figures::*clear)();
};

#define ONEFOLD_FIGURE(counter, name)                                                  \
  Figure {                                                                             \
    &RunCounters::counter, &Figures::has_##name, &Figures::name, &Figures::set_##name, \
        &Figures::clear_##name                                                         \
  }
// Each part adds to these.
const Figure kAdded[] = {
    ONEFOLD_FIGURE(extents_scanned, extents_scanned),
    ONEFOLD_FIGURE(bytes_scanned, bytes_scanned),
    ONEFOLD_FIGURE(file_bytes_read, file_bytes_read),
    ONEFOLD_FIGURE(dedupe_requests, dedupe_requests),
    ONEFOLD_FIGURE(bytes_shared, bytes_shared),
    ONEFOLD_FIGURE(bytes_freed, bytes_freed),
    ONEFOLD_FIGURE(bytes_written, bytes_written),
    ONEFOLD_FIGURE(metadata_bytes_grown, metadata_bytes_grown),
};
// The last part knows best.
const Figure kLatest[] = {
    ONEFOLD_FIGURE(extents_total, extents_total),
    ONEFOLD_FIGURE(bytes_pinned, bytes_pinned),
    ONEFOLD_FIGURE(bytes_freeable, bytes_expected),
};
#undef ONEFOLD_FIGURE

v1::RunPhase PhaseOf(Progress::Phase phase) {
  switch (phase) {
    case Progress::Phase::kStarting:
    case Progress::Phase::kScanning: return v1::RUN_PHASE_SCAN;
    case Progress::Phase::kPlanning:
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

void AddTo(int64_t more, bool unknown, const Figure& figure, Figures& figures) {
  if (unknown) return;
  (figures.*figure.set)((figures.*figure.has)() ? (figures.*figure.get)() + more : more);
}

}  // namespace

std::string WireText(absl::string_view text) {
  std::string utf8 = ReplaceNonUtf8(text);
  if (utf8.size() <= kTextBytesMax) return utf8;
  // Cut where a character begins.
  size_t end = kTextBytesMax;
  while (end > 0 && (static_cast<unsigned char>(utf8[end]) & 0xC0) == 0x80) --end;
  utf8.resize(end);
  return utf8;
}

void AddPart(const VolumeReport& part, bool unknown_before, v1::RunStatus& status) {
  Figures& figures = *status.mutable_figures();
  for (const Figure& figure : kAdded) {
    const std::optional<int64_t>& value = part.counters.*figure.counter;
    if (value.has_value()) {
      AddTo(*value, unknown_before, figure, figures);
    } else {
      (figures.*figure.clear)();
    }
  }
  for (const Figure& figure : kLatest) {
    const std::optional<int64_t>& value = part.counters.*figure.counter;
    if (value.has_value()) (figures.*figure.set)(*value);
  }
  if (part.counters.bytes_pinned.has_value()) {
    figures.clear_pinned_by();
    for (const auto& [holder, bytes] : part.counters.pinned_by) {
      (*figures.mutable_pinned_by())[holder] = bytes;
    }
  }
  for (const auto& [reason, count] : part.counters.skipped) {
    (*figures.mutable_skipped())[reason] += count;
  }
  size_t bytes = 0;
  for (const v1::RunProblem& problem : status.problems()) bytes += problem.ByteSizeLong();
  for (const Problem& problem : part.problems) {
    if (status.problems_size() >= static_cast<int>(kProblemsListedMax)) break;
    v1::RunProblem& message = *status.add_problems();
    message.set_reason(WireText(problem.reason));
    message.set_path(problem.path.substr(0, kPathBytesMax));
    message.set_detail(WireText(problem.detail));
    bytes += message.ByteSizeLong();
    if (bytes > kProblemBytesMax) break;
  }
  status.set_problem_count(status.problem_count() + part.problems_total);
}

void ForgetFigures(Figures& figures) {
  for (const Figure& figure : kAdded) (figures.*figure.clear)();
}

void AddLive(const Progress& progress, bool unknown_before, v1::RunStatus& status) {
  const Progress::Phase phase = progress.phase.load();
  status.set_phase(PhaseOf(phase));
  status.set_phase_fraction(
      status.phase() == v1::RUN_PHASE_SCAN
          ? Fraction(progress.scan_bytes_done.load(), progress.scan_bytes_total.load())
          : Fraction(progress.plan_bytes_done.load(), progress.plan_bytes_total.load()));
  const int64_t moved = progress.moved_bytes.load();
  if (moved > 0) {
    status.set_message(
        absl::StrFormat("%.1f MiB moved so far", static_cast<double>(moved) / (1 << 20)));
  }
  Figures& figures = *status.mutable_figures();
  for (const Figure& figure : kAdded) {
    if (figure.counter == &RunCounters::extents_scanned) {
      AddTo(progress.extents_scanned.load(), unknown_before, figure, figures);
    } else if (figure.counter == &RunCounters::file_bytes_read) {
      AddTo(progress.file_bytes_read.load(), unknown_before, figure, figures);
    } else if (figure.counter == &RunCounters::dedupe_requests) {
      AddTo(progress.dedupe_requests.load(), unknown_before, figure, figures);
    } else {
      (figures.*figure.clear)();
    }
  }
}

}  // namespace onefold
