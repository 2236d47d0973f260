#include "cli/progress_view.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/quantity.h"
#include "common/escape.h"

namespace onefold {
namespace {

// Rates are over this long: shorter jumps about, longer is stale.
constexpr absl::Duration kRateWindow = absl::Seconds(15);
// Before that much has been seen of a phase, nothing is said about its rate.
constexpr absl::Duration kRateAfter = absl::Milliseconds(800);
constexpr absl::Duration kLeftMax = absl::Hours(24 * 365);

bool IsWorkingPhase(Progress::Phase phase) {
  return phase == Progress::Phase::kPlanning || phase == Progress::Phase::kDeduping;
}

std::string VolumeText(const ProgressView& view) {
  std::string text = Escape(view.now.volume);
  if (view.now.volume_count > 1) {
    absl::StrAppend(&text, text.empty() ? "" : " ", "(", view.now.volume_index, " of ",
                    view.now.volume_count, ")");
  }
  return text;
}

std::string LeftText(const ProgressView& view) {
  if (!view.left.has_value()) return "";
  return absl::StrCat(view.more_follows ? "more than " : "", DurationText(*view.left), " left");
}

std::string FreedText(const ProgressView& view, bool dry_run) {
  if (dry_run || view.now.moved_bytes == 0) return "";
  return absl::StrCat("about ", BytesText(view.now.moved_bytes), " freed");
}

std::string DoneText(const ProgressView& view) {
  if (view.total_bytes <= 0) return "";
  return absl::StrCat(BytesText(std::min(view.done_bytes, view.total_bytes)), " of ",
                      BytesText(view.total_bytes));
}

}  // namespace

ProgressSample TakeSample(Progress& progress) {
  return {.phase = progress.phase.load(),
          .scan_bytes_done = progress.scan_bytes_done.load(),
          .scan_bytes_total = progress.scan_bytes_total.load(),
          .plan_bytes_done = progress.plan_bytes_done.load(),
          .plan_bytes_total = progress.plan_bytes_total.load(),
          .moved_bytes = progress.moved_bytes.load(),
          .extents_scanned = progress.extents_scanned.load(),
          .dedupe_requests = progress.dedupe_requests.load(),
          .file_bytes_read = progress.file_bytes_read.load(),
          .volume_index = progress.volume_index.load(),
          .volume_count = progress.volume_count.load(),
          .volume = progress.volume()};
}

ProgressView ProgressModel::Update(const ProgressSample& sample, absl::Duration elapsed) {
  if (sample.phase != phase_ || sample.volume_index != volume_index_) {
    phase_ = sample.phase;
    volume_index_ = sample.volume_index;
    points_.clear();
  }
  ProgressView view;
  view.now = sample;
  view.elapsed = elapsed;
  if (sample.phase == Progress::Phase::kScanning) {
    view.done_bytes = sample.scan_bytes_done;
    view.total_bytes = sample.scan_bytes_total;
  } else if (IsWorkingPhase(sample.phase)) {
    view.done_bytes = sample.plan_bytes_done;
    view.total_bytes = sample.plan_bytes_total;
  }
  view.more_follows =
      sample.phase == Progress::Phase::kScanning || sample.volume_index < sample.volume_count;

  points_.push_back({elapsed, view.done_bytes});
  // The oldest point stays just outside of the window, so that the window is always full.
  while (points_.size() > 2 && elapsed - points_[1].at >= kRateWindow) points_.pop_front();
  const absl::Duration span = elapsed - points_.front().at;
  if (span >= kRateAfter && view.total_bytes > 0) {
    const auto done = static_cast<double>(view.done_bytes - points_.front().done);
    view.bytes_per_second = std::llround(std::max(0.0, done / absl::ToDoubleSeconds(span)));
    const int64_t rest = std::max<int64_t>(0, view.total_bytes - view.done_bytes);
    if (rest == 0) {
      view.left = absl::ZeroDuration();
    } else if (*view.bytes_per_second > 0) {
      view.left =
          absl::Seconds(static_cast<double>(rest) / static_cast<double>(*view.bytes_per_second));
    }
    if (view.left.has_value() && *view.left > kLeftMax) view.left.reset();
  }
  return view;
}

const char* PhaseName(Progress::Phase phase) {
  switch (phase) {
    case Progress::Phase::kStarting: return "starting";
    case Progress::Phase::kScanning: return "scanning";
    case Progress::Phase::kPlanning: return "planning";
    case Progress::Phase::kDeduping: return "deduping";
    case Progress::Phase::kSettling: return "settling";
    case Progress::Phase::kDone: return "done";
  }
  return "working";
}

std::string StatusLine(const ProgressView& view, bool dry_run, int column_max) {
  struct Part {
    std::string text;
    int weight;  // what weighs least goes first
  };
  std::string phase = PhaseName(view.now.phase);
  if (view.total_bytes > 0) {
    absl::StrAppend(&phase, " ", Percent(view.done_bytes, view.total_bytes), " %");
  }
  std::vector<Part> parts = {
      {std::move(phase), 6},
      {DoneText(view), 3},
      {view.bytes_per_second.value_or(0) > 0 ? absl::StrCat(BytesText(*view.bytes_per_second), "/s")
                                             : "",
       2},
      {LeftText(view), 5},
      {FreedText(view, dry_run), 4},
      {VolumeText(view), 1},
  };
  for (int weight = 1;; ++weight) {
    std::string line;
    for (const Part& part : parts) {
      if (!part.text.empty()) absl::StrAppend(&line, line.empty() ? "" : "  ", part.text);
    }
    if (weight == 6 || ColumnCount(line) <= column_max) return Shorten(line, column_max);
    for (Part& part : parts) {
      if (part.weight == weight) part.text.clear();
    }
  }
}

std::string PlainLine(const ProgressView& view, bool dry_run) {
  std::string line = PhaseName(view.now.phase);
  const std::string volume = VolumeText(view);
  if (!volume.empty()) absl::StrAppend(&line, " ", volume);
  std::string facts = DoneText(view);
  for (const std::string& fact : {LeftText(view), FreedText(view, dry_run)}) {
    if (!fact.empty()) absl::StrAppend(&facts, facts.empty() ? "" : ", ", fact);
  }
  if (!facts.empty()) absl::StrAppend(&line, ": ", facts);
  return line;
}

}  // namespace onefold
