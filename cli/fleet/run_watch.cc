#include "cli/fleet/run_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_text.h"
#include "cli/fleet/admin_words.h"
#include "cli/run_summary.h"

namespace onefold {
namespace {

// A stream that nobody ends would hide a dead connection; it is opened anew that often.
constexpr absl::Duration kStreamDeadline = absl::Minutes(5);
constexpr absl::Duration kWaitMin = absl::Seconds(1);
constexpr absl::Duration kWaitMax = absl::Seconds(15);

// Shows one run's changes: on a terminal in one line, which is written again and again.
class RunPrinter {
 public:
  explicit RunPrinter(const VerbCall& call) : call_(call) {}

  void Show(const v1::Run& run) {
    if (HasEnded(run.state())) {
      Clear();
      call_.Print(RunStateJson(run), RunEndText(run));
      return;
    }
    if (call_.json) {
      call_.Print(RunStateJson(run), "");
      return;
    }
    const std::string line = RunLine(run);
    if (line == line_) return;
    Clear();
    line_ = line;
    call_.console().Print(call_.console().IsTerminal() ? line : absl::StrCat(line, "\n"));
  }

  // What is said next begins a line.
  void Clear() {
    if (!line_.empty() && !call_.json && call_.console().IsTerminal()) {
      call_.console().Print("\r\x1b[K");
    }
    line_.clear();
  }

 private:
  const VerbCall& call_;
  std::string line_;
};

}  // namespace

absl::StatusOr<v1::Run> WatchUntilEnd(const VerbCall& call, const std::string& run_id) {
  v1::WatchRunRequest request;
  request.set_run_id(run_id);
  RunPrinter printer(call);
  v1::Run last;
  std::string last_bytes;
  bool said = false;
  absl::Duration wait = kWaitMin;
  absl::Duration away;
  while (true) {
    const absl::Status status =
        call.client.WatchRun(request, kStreamDeadline, [&](const v1::Run& run) {
          wait = kWaitMin;
          away = absl::ZeroDuration();
          said = false;
          request.set_run_id(run.run_id());  // it may have been a beginning
          last = run;
          std::string bytes = run.SerializeAsString();
          if (bytes != last_bytes) printer.Show(run);
          last_bytes = std::move(bytes);
        });
    if (HasEnded(last.state())) return last;
    if (absl::IsDeadlineExceeded(status)) continue;
    const bool known_before = !last_bytes.empty();
    if (!status.ok() && (!absl::IsUnavailable(status) || !known_before || away >= kWatchPatience)) {
      printer.Clear();
      return status;
    }
    if (!status.ok() && !said) {
      said = true;
      printer.Clear();
      call.console().Say("onefold: the coordinator is away; the run goes on, trying again\n");
    }
    call.around.sleep(wait);
    away += wait;
    wait = std::min(wait * 2, kWaitMax);
  }
}

int ExitCodeOf(const std::vector<v1::Run>& ended) {
  const auto all = [&](v1::RunState state) {
    return std::all_of(ended.begin(), ended.end(),
                       [&](const v1::Run& run) { return run.state() == state; });
  };
  if (all(v1::RUN_STATE_COMPLETED)) return kExitDone;
  return all(v1::RUN_STATE_FAILED) ? kExitRefused : kExitIncomplete;
}

}  // namespace onefold
