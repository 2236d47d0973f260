// How every service of ours begins, serves and ends: configuration, signals, log, the service
// manager, and an end within a limit.

#ifndef ONEFOLD_CLI_SERVICE_H_
#define ONEFOLD_CLI_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/config_loader.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/log.h"

namespace onefold {

// One of them. RunService's thread makes all calls, in this order; Tick many times.
class Service {
 public:
  // Of a service that has started.
  struct Started {
    const char* message = "";  // of the log
    LogFields fields = {};
    std::string status = {};  // for `systemctl status`
  };

  virtual ~Service() = default;

  // The message of an error says what to do. `clock` and `log` outlive the service.
  virtual absl::StatusOr<Started> Start(const Config& config, Clock& clock, Log& log) = 0;
  // Does what is due. Returns what `systemctl status` shows from now on; empty: as before.
  virtual std::string Tick() = 0;
  // Ends, within what ServiceTraits::stop_limit leaves. False: something does not end, and is taken
  // up again by the next start; the process ends without it.
  virtual bool Stop() = 0;
};

struct ServiceTraits {
  ConfiguredCommand command;
  absl::Duration tick_interval;
  // From a signal on; less than the 10 s that are promised.
  absl::Duration stop_limit;
  // What the log says at each start with the setting `insecure`; null: there is no such setting.
  const char* insecure_warning = nullptr;
};

// Runs `service` with the configuration that the arguments name until a signal comes. Returns the
// exit code.
int RunService(const ServiceTraits& traits, const Arguments& arguments,
               std::unique_ptr<Service> service);

// What help texts say of it.
extern const char kServiceExitCodes[];

}  // namespace onefold

#endif  // ONEFOLD_CLI_SERVICE_H_
