#include "cli/coordinator_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config_loader.h"
#include "cli/coordinator_backup.h"
#include "cli/coordinator_rotate.h"
#include "cli/fleet_server.h"
#include "cli/run_summary.h"
#include "cli/service.h"
#include "cli/settings.h"
#include "common/escape.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr absl::Duration kTickInterval = absl::Seconds(1);
// SIGTERM ends the process within 10 seconds: calls under way get the first, breaking them off the
// second.
constexpr absl::Duration kShutdownGrace = absl::Seconds(4);
constexpr absl::Duration kShutdownLimit = absl::Seconds(8);

// A host that works calls every two seconds; who is silent keeps others waiting.
constexpr absl::Duration kLeaseMin = absl::Seconds(10);
constexpr absl::Duration kLeaseMax = absl::Hours(1);

absl::Status CheckCoordinator(const Config& config) {
  const auto shard_count = static_cast<int64_t>(config.List("shards").size());
  const int64_t shard_index = config.Integer("shard_index");
  if (shard_index >= std::max<int64_t>(shard_count, 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        config.Origin("shard_index"), ": shard_index: ", shard_index,
        shard_count == 0 ? " without shards" : absl::StrCat(": there are only ", shard_count),
        " (counted from 0)"));
  }
  const absl::Duration lease = config.Span("lease");
  if (lease < kLeaseMin || lease > kLeaseMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(config.Origin("lease"), ": lease: must be 10s to 1h"));
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
        onefold coordinator backup DIR [OPTIONS]
        onefold coordinator restore DIR [OPTIONS]
        onefold coordinator rotate-authority [--distrust] [OPTIONS]

Serves a fleet: keeps the index of fingerprints and the state in its state directory, plans, and
tells workers what to do. Workers call it; it never calls them.

backup puts what cannot be made again (state and identity; the keys of the fleet are in it) into the
new directory DIR, also while the coordinator runs; restore makes a state directory of it. The index
is not part of it: workers are told to scan again, which takes seconds.

rotate-authority gives the fleet, while the coordinator is stopped, a new certificate authority. Hosts
and people go on with what they have until it ends. --distrust ends that at once, for when a key was
stolen: everybody has to join again.

)",
      ConfigHelp(Description()),
      R"(
Exit codes:
  0    ended by SIGTERM or SIGINT; the backup is made, or restored
  1    refused: the message says why and what to do
)");
}

FleetServer::Options ServerOptions(const Config& config) {
  std::vector<std::string> listen = config.List("listen");
  const std::string& socket = config.Text("socket");
  if (!socket.empty()) listen.push_back(absl::StrCat("unix:", socket));
  return {.state_directory = config.Text("state_directory"),
          .listen = std::move(listen),
          .public_address = config.Text("public_address"),
          .insecure = config.Bool("insecure"),
          .reflection = config.Bool("reflection"),
          .memory_bytes = config.Integer("memory_mib") << 20,
          .free_bytes_min = config.Integer("free_space_mib") << 20,
          .lease_ttl = config.Span("lease"),
          .rules = {.shards = ShardMap(config.List("shards"),
                                       static_cast<size_t>(config.Integer("shard_index"))),
                    .extents_max = config.Integer("volume_quota_extents")},
          .runs_at_once = config.Integer("runs_at_once"),
          .web = WebOptionsOf(config),
          .textfile = config.Text("textfile")};
}

int Report(const absl::Status& status, const std::string& done) {
  if (status.ok()) return PrintText(absl::StrCat(done, "\n"));
  std::fprintf(stderr, "onefold: %s\n", EscapeText(status.message()).c_str());
  return kExitRefused;
}

// `arguments`: "backup" or "restore", a directory, and settings for where the state is.
int RunCopy(const Arguments& arguments) {
  const bool is_backup = arguments[0] == "backup";
  if (arguments.size() < 2 || arguments[1].empty() || arguments[1][0] == '-') {
    std::fprintf(stderr, "onefold: %s needs a directory\nTry: onefold coordinator --help\n",
                 arguments[0].c_str());
    return kExitRefused;
  }
  const std::string& directory = arguments[1];
  const LoadedConfig loaded =
      LoadCommandConfig(Description(), Arguments(arguments.begin() + 2, arguments.end()));
  if (!loaded.config.has_value()) return loaded.exit_code;
  const std::string& state = loaded.config->Text("state_directory");
  return is_backup ? Report(BackUpCoordinator(state, directory),
                            absl::StrCat("state and identity of ", state, " are in ", directory))
                   : Report(RestoreCoordinator(directory, state),
                            absl::StrCat(state, " is restored; the index comes by scanning"));
}

// `arguments`: "rotate-authority", perhaps "--distrust", and settings for where the state is.
int RunRotate(const Arguments& arguments) {
  Arguments rest(arguments.begin() + 1, arguments.end());
  const auto distrust = std::find(rest.begin(), rest.end(), "--distrust");
  const bool distrusts = distrust != rest.end();
  if (distrusts) rest.erase(distrust);
  const LoadedConfig loaded = LoadCommandConfig(Description(), rest);
  if (!loaded.config.has_value()) return loaded.exit_code;
  const absl::StatusOr<std::string> done =
      RotateAuthority(loaded.config->Text("state_directory"), distrusts, SystemClock().Now());
  if (done.ok()) return PrintText(*done);
  return Report(done.status(), "");
}

class CoordinatorProcess final : public Service {
 public:
  absl::StatusOr<Started> Start(const Config& config, Clock& clock, Log& log) override {
    ASSIGN_OR_RETURN(server_, FleetServer::Start(ServerOptions(config), clock, log));
    const std::string addresses = absl::StrJoin(server_->addresses(), ", ");
    return Started{.message = "serving",
                   .fields = {{"addresses", addresses}},
                   .status = absl::StrCat("serving on ", addresses)};
  }
  std::string Tick() override {
    server_->Tick();
    return "";
  }
  bool Stop() override {
    server_->Shutdown(kShutdownGrace);
    server_.reset();
    return true;
  }

 private:
  std::unique_ptr<FleetServer> server_;
};

int RunCoordinator(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] == "rotate-authority") return RunRotate(arguments);
  if (!arguments.empty() && (arguments[0] == "backup" || arguments[0] == "restore")) {
    return RunCopy(arguments);
  }
  return RunService({.command = Description(),
                     .tick_interval = kTickInterval,
                     .stop_limit = kShutdownLimit,
                     .insecure_warning = "insecure: without TLS anybody who reaches this "
                                         "coordinator can do anything"},
                    arguments, std::make_unique<CoordinatorProcess>());
}

}  // namespace

const Command kCoordinatorCommand = {.name = "coordinator",
                                     .summary = "serve a fleet: index, plans, schedules",
                                     .help = CoordinatorHelp,
                                     .run = RunCoordinator};

}  // namespace onefold
