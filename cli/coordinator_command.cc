#include "cli/coordinator_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_line.h"
#include "cli/config_loader.h"
#include "cli/fleet_server.h"
#include "cli/run_summary.h"
#include "cli/service_loop.h"
#include "cli/settings.h"
#include "common/escape.h"
#include "common/log.h"
#include "common/service_manager.h"

namespace onefold {
namespace {

constexpr absl::Duration kTickInterval = absl::Seconds(2);
// SIGTERM ends the process within 10 seconds: calls under way get the first, breaking them off the
// second.
constexpr absl::Duration kShutdownGrace = absl::Seconds(4);
constexpr absl::Duration kShutdownLimit = absl::Seconds(8);

absl::Status CheckCoordinator(const Config& config) {
  const auto shard_count = static_cast<int64_t>(config.List("shards").size());
  const int64_t shard_index = config.Integer("shard_index");
  if (shard_index >= std::max<int64_t>(shard_count, 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        config.Origin("shard_index"), ": shard_index: ", shard_index,
        shard_count == 0 ? " without shards" : absl::StrCat(": there are only ", shard_count),
        " (counted from 0)"));
  }
  if (config.List("listen").empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(config.Origin("listen"), ": listen: no address"));
  }
  return absl::OkStatus();
}

ConfiguredCommand Description() {
  return {.name = "onefold coordinator",
          .default_file = "/etc/onefold/coordinator.yaml",
          .settings = CoordinatorSettings(),
          .check = CheckCoordinator};
}

std::string CoordinatorHelp() {
  return absl::StrCat(
      R"(Usage:  onefold coordinator [--config FILE] [OPTIONS]

Serves a fleet: keeps the index of fingerprints and the state in its state directory, plans, and
tells workers what to do. Workers call it; it never calls them.

)",
      ConfigHelp(Description()),
      R"(
Exit codes:
  0    ended by SIGTERM or SIGINT
  1    refused: the message says why and what to do
)");
}

FleetServer::Options ServerOptions(const Config& config) {
  return {.state_directory = config.Text("state_directory"),
          .listen = config.List("listen"),
          .insecure = config.Bool("insecure"),
          .reflection = config.Bool("reflection"),
          .rules = {.shards = ShardMap(config.List("shards"),
                                       static_cast<size_t>(config.Integer("shard_index"))),
                    .extents_max = config.Integer("volume_quota_extents")}};
}

int RunCoordinator(const Arguments& arguments) {
  const LoadedConfig loaded = LoadCommandConfig(Description(), arguments);
  if (!loaded.config.has_value()) return loaded.exit_code;
  const Config& config = *loaded.config;
  BlockServiceSignals();
  Log log({.level = LogLevelOf(config.Text("log_level")),
           .format = LogFormatOf(config.Text("log_format"), std::getenv("JOURNAL_STREAM"))},
          SystemClock());
  for (const std::string& warning : loaded.warnings) log.Warning(warning);
  if (config.Bool("insecure")) {
    log.Warning("insecure: without TLS anybody who reaches this coordinator can do anything");
  }
  const ServiceManager manager(std::getenv);
  absl::StatusOr<std::unique_ptr<FleetServer>> server =
      FleetServer::Start(ServerOptions(config), SystemClock(), log);
  if (!server.ok()) {
    log.Error(server.status().message());
    return kExitRefused;
  }
  const std::string addresses = absl::StrJoin((*server)->addresses(), ", ");
  log.Info("serving", {{"version", VersionNumber()}, {"addresses", addresses}});
  manager.Ready(absl::StrCat("serving on ", addresses));
  ServeUntilSignal(manager, kTickInterval, [&] { (*server)->Tick(); });
  log.Info("stopping");
  manager.Stopping();
  EndProcessAfter(kShutdownLimit, kExitDone);
  (*server)->Shutdown(kShutdownGrace);
  server->reset();
  log.Info("stopped");
  return kExitDone;
}

}  // namespace

const Command kCoordinatorCommand = {.name = "coordinator",
                                     .summary = "serve a fleet: index, plans, schedules",
                                     .help = CoordinatorHelp,
                                     .run = RunCoordinator};

}  // namespace onefold
