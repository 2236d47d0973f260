#include "cli/worker_command.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/config_loader.h"
#include "cli/service.h"
#include "cli/settings.h"
#include "cli/worker_service.h"
#include "common/log.h"
#include "common/status_macros.h"

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
      ConfigHelp(Description()), kServiceExitCodes);
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

class WorkerProcess final : public Service {
 public:
  absl::StatusOr<Started> Start(const Config& config, Clock& clock, Log& log) override {
    ASSIGN_OR_RETURN(worker_, WorkerService::Start(ServiceOptions(config), clock, log));
    const std::string& coordinator = config.Text("coordinator");
    return Started{.message = "working",
                   .fields = {{"coordinator", coordinator}},
                   .status = absl::StrCat("works for ", coordinator)};
  }
  std::string Tick() override {
    worker_->Tick();
    return "";
  }
  bool Stop() override {
    if (!worker_->Stop(kStopPatience)) return false;
    worker_.reset();
    return true;
  }

 private:
  std::unique_ptr<WorkerService> worker_;
};

int RunWorker(const Arguments& arguments) {
  return RunService({.command = Description(),
                     .tick_interval = kTickInterval,
                     .stop_limit = kStopLimit,
                     .insecure_warning = "insecure: without TLS anybody in between can pretend to "
                                         "be the coordinator"},
                    arguments, std::make_unique<WorkerProcess>());
}

}  // namespace

const Command kWorkerCommand = {.name = "worker",
                                .summary = "work for a fleet's coordinator on this host",
                                .help = WorkerHelp,
                                .run = RunWorker};

}  // namespace onefold
