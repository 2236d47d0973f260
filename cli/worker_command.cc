#include "cli/worker_command.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/command_line.h"
#include "cli/config_loader.h"
#include "cli/run_summary.h"
#include "cli/service_loop.h"
#include "cli/settings.h"
#include "cli/worker_service.h"
#include "common/log.h"
#include "common/service_manager.h"

namespace onefold {
namespace {

constexpr absl::Duration kTickInterval = absl::Seconds(30);
// SIGTERM ends the process within 10 seconds. A run that cannot be put down by then is taken up
// again by the next worker.
constexpr absl::Duration kStopPatience = absl::Seconds(7);
constexpr absl::Duration kStopLimit = absl::Seconds(9);

absl::Status CheckWorker(const Config& config) {
  if (!config.Text("coordinator").empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "coordinator: not set: name it (HOST:PORT), or type `onefold fleet join TOKEN@HOST:PORT`");
}

ConfiguredCommand Description() {
  return {.name = "onefold worker",
          .default_file = "/etc/onefold/worker.yaml",
          .settings = WorkerSettings(),
          .check = CheckWorker};
}

std::string WorkerHelp() {
  return absl::StrCat(
      R"(Usage:  onefold worker [--config FILE] [OPTIONS]

Works for a coordinator: tells it which btrfs volumes this host has, and dedupes them when it is
told to. It touches nothing outside the paths that `allow` names, whatever the coordinator says. Needs
the same privileges as `onefold dedupe`.

)",
      ConfigHelp(Description()),
      R"(
Exit codes:
  0    ended by SIGTERM or SIGINT
  1    refused: the message says why and what to do
)");
}

WorkerService::Options ServiceOptions(const Config& config) {
  return {.coordinator = config.Text("coordinator"),
          .state_directory = config.Text("state_directory"),
          .name = config.Text("name"),
          .labels = config.Map("labels"),
          .allow = config.List("allow"),
          .thread_count_max = static_cast<int>(config.Integer("threads")),
          .runs_at_once = static_cast<int>(config.Integer("runs_at_once")),
          .insecure = config.Bool("insecure")};
}

int RunWorker(const Arguments& arguments) {
  const LoadedConfig loaded = LoadCommandConfig(Description(), arguments);
  if (!loaded.config.has_value()) return loaded.exit_code;
  const Config& config = *loaded.config;
  BlockServiceSignals();
  Log log({.level = LogLevelOf(config.Text("log_level")),
           .format = LogFormatOf(config.Text("log_format"), std::getenv("JOURNAL_STREAM"))},
          SystemClock());
  for (const std::string& warning : loaded.warnings) log.Warning(warning);
  if (config.Bool("insecure")) {
    log.Warning("insecure: without TLS anybody in between can pretend to be the coordinator");
  }
  const ServiceManager manager(std::getenv);
  absl::StatusOr<std::unique_ptr<WorkerService>> service =
      WorkerService::Start(ServiceOptions(config), SystemClock(), log);
  if (!service.ok()) {
    log.Error(service.status().message());
    return kExitRefused;
  }
  log.Info("working", {{"version", VersionNumber()}, {"coordinator", config.Text("coordinator")}});
  manager.Ready(absl::StrCat("works for ", config.Text("coordinator")));
  ServeUntilSignal(manager, kTickInterval, [&] { (*service)->Tick(); });
  log.Info("stopping");
  manager.Stopping();
  EndProcessAfter(kStopLimit, kExitDone);
  if (!(*service)->Stop(kStopPatience)) {
    log.Warning("a run could not be put down in time; the next worker takes it up again");
    std::_Exit(kExitDone);
  }
  service->reset();
  log.Info("stopped");
  return kExitDone;
}

}  // namespace

const Command kWorkerCommand = {.name = "worker",
                                .summary = "work for a fleet's coordinator on this host",
                                .help = WorkerHelp,
                                .run = RunWorker};

}  // namespace onefold
