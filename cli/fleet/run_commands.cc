#include "cli/fleet/run_commands.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_text.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/host_commands.h"
#include "cli/fleet/run_watch.h"
#include "cli/run_summary.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr int kListedDefault = 50;
constexpr int kListedMax = 100'000;
constexpr int kPageSizeMax = 1000;

constexpr char kNowHelp[] = R"(Usage:  onefold run now VOLUME | --selector SELECTOR [OPTIONS]

Starts a run on each selected volume that has none under way, and prints the runs. VOLUME is a uuid (or
its first 8 digits), a label, or HOST:PATH.

  --selector SELECTOR      as in a policy: all, host=nas1, label=data, label:KEY=VALUE; with commas
                           all of them must hold
  --dry-run                change nothing on the volumes, only measure what a run would free
  --full                   look at everything again, not only at what is new
  --watch                  stay until all of them have ended and show what came of it
)";

constexpr char kListHelp[] = R"(Usage:  onefold run list [--active] [--limit N] [OPTIONS]

Shows runs, the newest first.

  --active                 only those that have not ended
  --limit N                at most N; default 50
)";

constexpr char kWatchHelp[] = R"(Usage:  onefold run watch RUN [OPTIONS]

Shows a run at every change until it has ended. RUN is an id of `onefold run list`, or an unambiguous
beginning of it. Exit codes are those of the run: 2 if it did less than asked, or was cancelled; 1 if
it failed.
)";

constexpr char kCancelHelp[] = R"(Usage:  onefold run cancel RUN [OPTIONS]

Stops a run for good. What it has done counts. RUN is an id of `onefold run list`, or an unambiguous
beginning of it. Harmless to repeat.
)";

constexpr char kPauseHelp[] = R"(Usage:  onefold run pause RUN [OPTIONS]

Holds a run until `onefold run resume`. RUN is an id of `onefold run list`, or an unambiguous
beginning of it. Harmless to repeat.
)";

constexpr char kResumeHelp[] = R"(Usage:  onefold run resume RUN [OPTIONS]

Lets a held run go on. RUN is an id of `onefold run list`, or an unambiguous beginning of it. Harmless to repeat.
)";

absl::StatusOr<std::map<std::string, std::string>> HostNames(AdminClient& client) {
  ASSIGN_OR_RETURN(const std::vector<v1::Host> hosts, AllHosts(client));
  std::map<std::string, std::string> names;
  for (const v1::Host& host : hosts) {
    if (!host.display_name().empty()) names[host.host_id()] = host.display_name();
  }
  return names;
}

// Names are a comfort: without them ids are shown.
std::string Listed(const VerbCall& call, const std::vector<v1::Run>& runs) {
  return RunsText(runs, HostNames(call.client).value_or(std::map<std::string, std::string>()),
                  call.Now(), call.CellColumnsMax());
}

absl::StatusOr<int> RunNow(const VerbCall& call) {
  const Options& options = call.options;
  if (options.operands().empty() == !options.Has("--selector")) {
    return absl::InvalidArgumentError(
        "which volume? Say VOLUME, or --selector; for all of the fleet: --selector all");
  }
  v1::StartRunsRequest request;
  if (!options.operands().empty()) request.set_volume(options.operands()[0]);
  request.set_selector(options.Value("--selector"));
  request.set_dry_run(options.Has("--dry-run"));
  request.set_full(options.Has("--full"));
  request.set_request_id(call.around.new_request_id());
  ASSIGN_OR_RETURN(const v1::StartRunsResponse response, call.client.StartRuns(request));
  const std::vector<v1::Run> runs(response.runs().begin(), response.runs().end());
  const std::vector<std::string> refused(response.refused().begin(), response.refused().end());
  call.Print(RunsJson(runs, refused), runs.empty() ? "" : Listed(call, runs));
  for (const std::string& reason : refused) {
    call.console().Say(absl::StrCat("onefold: ", EscapeText(reason), "\n"));
  }
  if (runs.empty()) {
    if (refused.empty()) call.console().Say("onefold: no volume is selected\n");
    return kExitRefused;
  }
  int code = kExitDone;
  if (options.Has("--watch")) {
    std::vector<v1::Run> ended;
    for (const v1::Run& run : runs) {
      ASSIGN_OR_RETURN(v1::Run end, WatchUntilEnd(call, run.run_id()));
      ended.push_back(std::move(end));
    }
    code = ExitCodeOf(ended);
  }
  return code == kExitDone && !refused.empty() ? kExitIncomplete : code;
}

absl::StatusOr<int> ListRuns(const VerbCall& call) {
  int limit = kListedDefault;
  if (call.options.Has("--limit") && (!absl::SimpleAtoi(call.options.Value("--limit"), &limit) ||
                                      limit < 1 || limit > kListedMax)) {
    return absl::InvalidArgumentError(absl::StrCat("--limit: '",
                                                   Escape(call.options.Value("--limit")),
                                                   "' is no number from 1 to ", kListedMax));
  }
  v1::ListRunsRequest request;
  request.set_active_only(call.options.Has("--active"));
  std::vector<v1::Run> runs;
  do {
    const int missing = limit - static_cast<int>(runs.size());
    request.set_page_size(std::min(missing, kPageSizeMax));
    ASSIGN_OR_RETURN(const v1::ListRunsResponse page, call.client.ListRuns(request));
    for (const v1::Run& run : page.runs()) {
      if (static_cast<int>(runs.size()) < limit) runs.push_back(run);
    }
    // A page that is empty and not the last would be asked for for ever.
    request.set_page_token(page.runs().empty() ? "" : page.next_page_token());
  } while (!request.page_token().empty() && static_cast<int>(runs.size()) < limit);
  std::string text;
  if (runs.empty()) {
    text = request.active_only() ? "Nothing runs.\n" : "Nothing has run yet.\n";
  } else if (!call.json) {
    text = Listed(call, runs);
  }
  call.Print(RunsJson(runs, {}), text);
  return kExitDone;
}

absl::StatusOr<int> WatchRun(const VerbCall& call) {
  ASSIGN_OR_RETURN(const v1::Run run, WatchUntilEnd(call, call.options.operands()[0]));
  return ExitCodeOf({run});
}

void PrintRun(const VerbCall& call, const v1::Run& run) {
  call.Print(RunStateJson(run), absl::StrCat(RunLine(run), "\n"));
}

absl::StatusOr<int> CancelRun(const VerbCall& call) {
  v1::CancelRunRequest request;
  request.set_run_id(call.options.operands()[0]);
  ASSIGN_OR_RETURN(const v1::CancelRunResponse response, call.client.CancelRun(request));
  PrintRun(call, response.run());
  return kExitDone;
}

absl::StatusOr<int> PauseRun(const VerbCall& call) {
  v1::PauseRunRequest request;
  request.set_run_id(call.options.operands()[0]);
  ASSIGN_OR_RETURN(const v1::PauseRunResponse response, call.client.PauseRun(request));
  PrintRun(call, response.run());
  return kExitDone;
}

absl::StatusOr<int> ResumeRun(const VerbCall& call) {
  v1::ResumeRunRequest request;
  request.set_run_id(call.options.operands()[0]);
  ASSIGN_OR_RETURN(const v1::ResumeRunResponse response, call.client.ResumeRun(request));
  PrintRun(call, response.run());
  return kExitDone;
}

}  // namespace

const Verb& RunNowVerb() {
  static const Verb* const verb =
      new Verb{"onefold run now",
               kNowHelp,
               {{"--selector", true}, {"--dry-run", false}, {"--full", false}, {"--watch", false}},
               0,
               1,
               &RunNow};
  return *verb;
}

const Verb& ListRunsVerb() {
  static const Verb* const verb = new Verb{
      "onefold run list", kListHelp, {{"--active", false}, {"--limit", true}}, 0, 0, &ListRuns};
  return *verb;
}

const Verb& WatchRunVerb() {
  static const Verb* const verb = new Verb{"onefold run watch", kWatchHelp, {}, 1, 1, &WatchRun};
  return *verb;
}

const Verb& CancelRunVerb() {
  static const Verb* const verb = new Verb{"onefold run cancel", kCancelHelp, {}, 1, 1, &CancelRun};
  return *verb;
}

const Verb& PauseRunVerb() {
  static const Verb* const verb = new Verb{"onefold run pause", kPauseHelp, {}, 1, 1, &PauseRun};
  return *verb;
}

const Verb& ResumeRunVerb() {
  static const Verb* const verb = new Verb{"onefold run resume", kResumeHelp, {}, 1, 1, &ResumeRun};
  return *verb;
}

}  // namespace onefold
