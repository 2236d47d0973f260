#include "cli/service.h"

#include <cstdlib>
#include <utility>

#include "cli/command_line.h"
#include "cli/run_summary.h"
#include "cli/service_loop.h"
#include "common/service_manager.h"

namespace onefold {

const char kServiceExitCodes[] = R"(
Exit codes:
  0    ended by SIGTERM or SIGINT
  1    refused: the message says why and what to do
)";

int RunService(const ServiceTraits& traits, const Arguments& arguments,
               std::unique_ptr<Service> given) {
  const LoadedConfig loaded = LoadCommandConfig(traits.command, arguments);
  if (!loaded.config.has_value()) return loaded.exit_code;
  const Config& config = *loaded.config;
  BlockServiceSignals();
  Log log({.level = LogLevelOf(config.Text("log_level")),
           .format = LogFormatOf(config.Text("log_format"), std::getenv("JOURNAL_STREAM"))},
          SystemClock());
  const std::unique_ptr<Service> service = std::move(given);  // ends before what it logs to
  for (const std::string& warning : loaded.warnings) log.Warning(warning);
  if (traits.insecure_warning != nullptr && config.Bool("insecure")) {
    log.Warning(traits.insecure_warning);
  }
  const ServiceManager manager(std::getenv);
  absl::StatusOr<Service::Started> started = service->Start(config, SystemClock(), log);
  if (!started.ok()) {
    log.Error(started.status().message());
    return kExitRefused;
  }
  started->fields.insert(started->fields.begin(), {"version", VersionNumber()});
  log.Info(started->message, started->fields);
  manager.Ready(started->status);
  std::string status = std::move(started->status);
  ServeUntilSignal(manager, traits.tick_interval, [&] {
    std::string now = service->Tick();
    if (now.empty() || now == status) return;
    manager.Status(now);
    status = std::move(now);
  });
  log.Info("stopping");
  manager.Stopping();
  EndProcessAfter(traits.stop_limit, kExitDone);
  if (!service->Stop()) {
    log.Warning("a run could not be put down in time; it is taken up again at the next start");
    std::_Exit(kExitDone);
  }
  log.Info("stopped");
  return kExitDone;
}

}  // namespace onefold
