#include "cli/view/view_command.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/fleet/admin_json.h"
#include "cli/fleet/admin_text.h"
#include "cli/fleet/console.h"
#include "cli/fleet/options.h"
#include "cli/fleet/verb.h"
#include "cli/query_source.h"
#include "cli/run_summary.h"
#include "cli/view/view_json.h"
#include "cli/view/view_text.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr int kPageSizeMax = 1000;
constexpr int kListedDefault = 50;
constexpr int kListedMax = 100'000;
constexpr int kGroupsMax = 200;
constexpr int kTerminalCellColumnsMax = 30;
constexpr std::chrono::seconds kCallDeadline{30};
// What is counted beside the work is waited for that long.
constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr absl::Duration kPollInterval = absl::Milliseconds(500);

constexpr char kViewHelp[] = R"(
Whom to ask:
  --state DIR              a state directory of this machine, whether a process works with it or not
  --coordinator ADDRESS    HOST, HOST:PORT or unix:/PATH; else ONEFOLD_COORDINATOR, else what the
                           certificate bundle says, else this machine: the coordinator's socket, or
                           the default state directory (/var/lib/onefold, or
                           $XDG_STATE_HOME/onefold if not root)
  --identity FILE          a certificate bundle of `onefold fleet user add`; else ONEFOLD_IDENTITY,
                           else ~/.config/onefold/user.pem
  --insecure               plain text, also to another machine: anybody on the way may listen
Output:
  --json                   one JSON object (see docs/json.md) instead of text
  -h, --help               this text

What is not known is shown as "-" (null with --json), never as 0.

Exit codes:
  0    done
  1    refused, or nothing could be shown: the message says why and what to do
)";

// What a view runs with.
struct ViewCall {
  const Options& options;
  QuerySource& source;
  Console& console;
  ViewStyle style;
  bool json = false;

  // Calls one method of the queries.
  template <typename Method, typename Request, typename Response>
  absl::Status Ask(Method method, const Request& request, Response& response) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    return FromGrpcStatus((source.queries().*method)(&context, request, &response));
  }

  std::string Operand() const { return options.operands().empty() ? "" : options.operands()[0]; }
  void Print(const std::string& json_text, const std::string& text) const {
    console.Print(json ? absl::StrCat(json_text, "\n") : text);
  }
};

using Queries = v1::QueryService::StubInterface;

struct View {
  const char* name;
  const char* help;
  std::vector<OptionSpec> options;  // beside the common ones
  size_t operand_min = 0;
  size_t operand_max = 0;
  absl::Status (*show)(const ViewCall& call) = nullptr;
};

absl::StatusOr<int> LimitOf(const Options& options, int otherwise, int max) {
  int limit = otherwise;
  if (options.Has("--limit") &&
      (!absl::SimpleAtoi(options.Value("--limit"), &limit) || limit < 1 || limit > max)) {
    return absl::InvalidArgumentError(absl::StrCat("--limit: '", Escape(options.Value("--limit")),
                                                   "' is no number from 1 to ", max));
  }
  return limit;
}

// Page by page, at most `limit` of them. `items` takes them out of a page.
template <typename Item, typename Method, typename Request, typename Response, typename Items>
absl::StatusOr<std::vector<Item>> AllPages(const ViewCall& call, Method method, Request request,
                                           Response response, Items items, int limit) {
  std::vector<Item> all;
  do {
    const int missing = limit - static_cast<int>(all.size());
    request.set_page_size(std::min(missing, kPageSizeMax));
    response.Clear();
    RETURN_IF_ERROR(call.Ask(method, request, response));
    for (const Item& item : items(response)) {
      if (static_cast<int>(all.size()) < limit) all.push_back(item);
    }
    // A page that is empty and not the last would be asked for for ever.
    request.set_page_token(items(response).empty() ? "" : response.next_page_token());
  } while (!request.page_token().empty() && static_cast<int>(all.size()) < limit);
  return all;
}

absl::StatusOr<std::vector<v1::Host>> Hosts(const ViewCall& call, const std::string& filter) {
  v1::QueryHostsRequest request;
  request.set_filter(filter);
  return AllPages<v1::Host>(
      call, &Queries::QueryHosts, request, v1::QueryHostsResponse(),
      [](const v1::QueryHostsResponse& page) -> const auto& { return page.hosts(); }, kListedMax);
}

// Names are a comfort: without them ids are shown.
std::map<std::string, std::string> HostNames(const ViewCall& call) {
  std::map<std::string, std::string> names;
  const absl::StatusOr<std::vector<v1::Host>> hosts = Hosts(call, "");
  if (!hosts.ok()) return names;
  for (const v1::Host& host : *hosts) {
    if (!host.display_name().empty()) names[host.host_id()] = host.display_name();
  }
  return names;
}

absl::Status ShowStatus(const ViewCall& call) {
  v1::GetSummaryRequest request;
  request.set_filter(call.options.Value("--filter"));
  v1::GetSummaryResponse summary;
  RETURN_IF_ERROR(call.Ask(&Queries::GetSummary, request, summary));
  call.Print(StatusJson(summary, call.source.name(), call.source.is_still()),
             StatusText(summary, call.source.name(), call.source.is_still(), call.style));
  return absl::OkStatus();
}

absl::Status ShowVolumes(const ViewCall& call) {
  v1::ListVolumesRequest request;
  request.set_filter(call.options.Value("--filter"));
  request.set_order_by(call.options.Value("--order"));
  ASSIGN_OR_RETURN(
      const std::vector<v1::Volume> volumes,
      AllPages<v1::Volume>(
          call, &Queries::ListVolumes, request, v1::ListVolumesResponse(),
          [](const v1::ListVolumesResponse& page) -> const auto& { return page.volumes(); },
          kListedMax));
  call.Print(VolumesJson(volumes), VolumesText(volumes, call.style));
  return absl::OkStatus();
}

absl::Status ShowHosts(const ViewCall& call) {
  ASSIGN_OR_RETURN(const std::vector<v1::Host> hosts, Hosts(call, call.options.Value("--filter")));
  call.Print(HostsJson(hosts), HostsText(hosts, call.style.now, call.style.cell_columns_max));
  return absl::OkStatus();
}

absl::Status ShowRuns(const ViewCall& call) {
  ASSIGN_OR_RETURN(const int limit, LimitOf(call.options, kListedDefault, kListedMax));
  v1::QueryRunsRequest request;
  request.set_filter(call.options.Value("--filter"));
  if (call.options.Has("--active")) {
    request.set_filter(request.filter().empty()
                           ? "active = true"
                           : absl::StrCat("active = true AND (", request.filter(), ")"));
  }
  ASSIGN_OR_RETURN(
      const std::vector<v1::Run> runs,
      AllPages<v1::Run>(
          call, &Queries::QueryRuns, request, v1::QueryRunsResponse(),
          [](const v1::QueryRunsResponse& page) -> const auto& { return page.runs(); }, limit));
  std::string text;
  if (runs.empty()) {
    text = request.filter().empty() ? "Nothing has run yet.\n" : "There is no such run.\n";
  } else if (!call.json) {
    text = RunsText(runs, HostNames(call), call.style.now, call.style.cell_columns_max);
  }
  call.Print(RunsJson(runs, {}), text);
  return absl::OkStatus();
}

absl::Status ShowRun(const ViewCall& call) {
  v1::GetRunRequest request;
  request.set_run_id(call.Operand());
  v1::GetRunResponse response;
  RETURN_IF_ERROR(call.Ask(&Queries::GetRun, request, response));
  call.Print(RunStateJson(response.run()),
             call.json ? "" : RunText(response, HostNames(call), call.style));
  return absl::OkStatus();
}

absl::Status ShowDuplicates(const ViewCall& call) {
  v1::ListDuplicatesRequest request;
  request.set_volume(call.Operand());
  ASSIGN_OR_RETURN(const int limit, LimitOf(call.options, 0, kGroupsMax));
  request.set_page_size(limit);
  v1::ListDuplicatesResponse response;
  const absl::Time give_up = absl::Now() + kPatience;
  while (true) {
    RETURN_IF_ERROR(call.Ask(&Queries::ListDuplicates, request, response));
    if (response.has_time() || absl::Now() >= give_up) break;
    absl::SleepFor(kPollInterval);
    response.Clear();
  }
  call.Print(DuplicatesJson(response), DuplicatesText(response, call.style));
  return absl::OkStatus();
}

absl::Status ShowOverlap(const ViewCall& call) {
  v1::GetOverlapRequest request;
  request.set_volume(call.Operand());
  v1::GetOverlapResponse response;
  const absl::Time give_up = absl::Now() + kPatience;
  while (true) {
    RETURN_IF_ERROR(call.Ask(&Queries::GetOverlap, request, response));
    if (response.has_time() || absl::Now() >= give_up) break;
    absl::SleepFor(kPollInterval);
    response.Clear();
  }
  call.Print(OverlapJson(response), OverlapText(response, call.style));
  return absl::OkStatus();
}

absl::Status ShowHistory(const ViewCall& call) {
  v1::GetHistoryRequest request;
  request.set_volume(call.Operand());
  v1::GetHistoryResponse response;
  RETURN_IF_ERROR(call.Ask(&Queries::GetHistory, request, response));
  call.Print(HistoryJson(response), HistoryText(response, call.style));
  return absl::OkStatus();
}

const View& StatusView() {
  static const View* const view = new View{"onefold status",
                                           R"(Usage:  onefold status [--filter FILTER] [OPTIONS]

One screen: whether all is well, what runs, what is next, what is wrong, what was freed so far, what
waits for a run, and who holds what cannot be freed.

  --filter FILTER          only these volumes: host = "nas1" AND labels.site = "attic"
)",
                                           {{"--filter", true}},
                                           0,
                                           0,
                                           &ShowStatus};
  return *view;
}

const View& VolumesView() {
  static const View* const view =
      new View{"onefold volumes",
               R"(Usage:  onefold volumes [--filter FILTER] [--order FIELD] [OPTIONS]

Shows the volumes: used, freed by all runs, waiting for a run, copies, pinned, the last run and the
next.

  --filter FILTER          for instance: waiting_bytes > 1000000 AND NOT connected = true
  --order FIELD            name (the default), used_bytes, freed_bytes, waiting_bytes,
                           duplicate_bytes, pinned_bytes: the largest first
)",
               {{"--filter", true}, {"--order", true}},
               0,
               0,
               &ShowVolumes};
  return *view;
}

const View& HostsView() {
  static const View* const view = new View{"onefold hosts",
                                           R"(Usage:  onefold hosts [--filter FILTER] [OPTIONS]

Shows the hosts, their volumes, what they allow to be touched, and what there is to do.

  --filter FILTER          for instance: state = silent OR version != "1.0.0"
)",
                                           {{"--filter", true}},
                                           0,
                                           0,
                                           &ShowHosts};
  return *view;
}

const View& RunsView() {
  static const View* const view =
      new View{"onefold runs",
               R"(Usage:  onefold runs [--active] [--filter FILTER] [--limit N] [OPTIONS]

Shows runs, the newest first.

  --active                 only those that have not ended
  --filter FILTER          for instance: state = "failed" AND end_time > "2026-01-01T00:00:00Z"
  --limit N                at most N; default 50
)",
               {{"--active", false}, {"--filter", true}, {"--limit", true}},
               0,
               0,
               &ShowRuns};
  return *view;
}

const View& ShowRunView() {
  static const View* const view = new View{"onefold run show",
                                           R"(Usage:  onefold run show RUN [OPTIONS]

Shows one run: where it stands, its figures and its problems. RUN is an id of `onefold runs`, or an
unambiguous beginning of it.
)",
                                           {},
                                           1,
                                           1,
                                           &ShowRun};
  return *view;
}

const View& DuplicatesView() {
  static const View* const view =
      new View{"onefold duplicates",
               R"(Usage:  onefold duplicates VOLUME [--limit N] [OPTIONS]

Shows the largest groups of equal data of a volume that lie on disk more than once. VOLUME is a uuid
(or its first 8 digits), a label, or HOST:PATH.

  --limit N                at most N groups; default 20, at most 200
)",
               {{"--limit", true}},
               1,
               1,
               &ShowDuplicates};
  return *view;
}

const View& OverlapView() {
  static const View* const view = new View{"onefold overlap",
                                           R"(Usage:  onefold overlap [VOLUME] [OPTIONS]

Shows which volumes hold the same data, and how much: a matrix, or pairs if there are many. VOLUME
(a uuid or its first 8 digits, a label, HOST:PATH): only what it shares with others.
)",
                                           {},
                                           0,
                                           1,
                                           &ShowOverlap};
  return *view;
}

const View& HistoryView() {
  static const View* const view = new View{"onefold history",
                                           R"(Usage:  onefold history [VOLUME] [OPTIONS]

Shows what was used, freed, waiting and pinned over time: of VOLUME (a uuid or its first 8 digits, a
label, HOST:PATH), or of all together.
)",
                                           {},
                                           0,
                                           1,
                                           &ShowHistory};
  return *view;
}

absl::StatusOr<Options> ParseView(const View& view, const Arguments& arguments) {
  std::vector<OptionSpec> specs = {{"--state", true},
                                   {"--coordinator", true},
                                   {"--identity", true},
                                   {"--insecure", false},
                                   {"--json", false}};
  specs.insert(specs.end(), view.options.begin(), view.options.end());
  ASSIGN_OR_RETURN(Options options, ParseOptions(specs, arguments));
  const size_t count = options.operands().size();
  if (count < view.operand_min) return absl::InvalidArgumentError("something is missing");
  if (count > view.operand_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("what is '", Escape(options.operands()[view.operand_max]), "' for?"));
  }
  if (options.Has("--state") && options.Has("--coordinator")) {
    return absl::InvalidArgumentError("--state or --coordinator, not both");
  }
  return options;
}

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As a terminal wants it; see https://no-color.org.
ViewStyle StyleOf(const Console& console) {
  const bool terminal = console.IsTerminal();
  return {.now = SystemClock().Now(),
          .cell_columns_max = terminal ? kTerminalCellColumnsMax : 0,
          .colour = terminal && EnvironmentValue("NO_COLOR").empty() &&
                    EnvironmentValue("TERM") != "dumb"};
}

int RunView(const View& view, const Arguments& arguments) {
  TerminalConsole console;
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  const auto refuse = [&](const absl::Status& status, const std::string& words) {
    if (json) console.Print(absl::StrCat(ErrorJson(status), "\n"));
    console.Say(absl::StrCat("onefold: ", words, "\n"));
    return kExitRefused;
  };
  const absl::StatusOr<Options> options = ParseView(view, arguments);
  if (!options.ok()) {
    return refuse(options.status(), absl::StrCat(EscapeText(options.status().message()),
                                                 "\nTry: ", view.name, " --help"));
  }
  const absl::StatusOr<std::unique_ptr<QuerySource>> source =
      OpenQuerySource({.connection = {.coordinator = options->Value("--coordinator"),
                                      .identity_file = options->Value("--identity"),
                                      .insecure = options->Has("--insecure")},
                       .state_directory = options->Value("--state")},
                      SystemClock());
  if (!source.ok()) {
    return refuse(source.status(), EscapeText(source.status().message()));
  }
  const absl::Status shown = view.show({.options = *options,
                                        .source = **source,
                                        .console = console,
                                        .style = StyleOf(console),
                                        .json = options->Has("--json")});
  if (!shown.ok()) return refuse(shown, ExplainError(shown, (*source)->name()));
  if (!console.printed()) return refuse(absl::UnknownError("could not write"), "could not write");
  return kExitDone;
}

template <const View& (*view)()>
std::string Help() {
  return absl::StrCat(view().help, kViewHelp);
}

template <const View& (*view)()>
int Run(const Arguments& arguments) {
  return RunView(view(), arguments);
}

template <const View& (*view)()>
constexpr Command Leaf(const char* name, const char* parameters, const char* summary) {
  return {.name = name,
          .parameters = parameters,
          .summary = summary,
          .help = Help<view>,
          .run = Run<view>};
}

}  // namespace

const Command kStatusCommand = Leaf<StatusView>("status", "", "how things stand, on one screen");
const Command kVolumesCommand = Leaf<VolumesView>("volumes", "", "volumes and their space");
const Command kHostsCommand = Leaf<HostsView>("hosts", "", "hosts and what they have mounted");
const Command kRunsCommand = Leaf<RunsView>("runs", "", "runs, the newest first");
const Command kShowRunCommand = Leaf<ShowRunView>("show", "RUN", "one run and its figures");
const Command kDuplicatesCommand =
    Leaf<DuplicatesView>("duplicates", "VOLUME", "the largest groups of equal data");
const Command kOverlapCommand =
    Leaf<OverlapView>("overlap", "[VOLUME]", "which volumes hold the same data");
const Command kHistoryCommand = Leaf<HistoryView>("history", "[VOLUME]", "figures over time");

}  // namespace onefold
