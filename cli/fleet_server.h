// FleetServer: the coordinator of a fleet behind gRPC: which services, on which addresses, with
// which limits.
//
// Thread-safe.

#ifndef ONEFOLD_CLI_FLEET_SERVER_H_
#define ONEFOLD_CLI_FLEET_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/log.h"
#include "coordinator/volume_rules.h"

namespace grpc {
class Channel;
}

namespace onefold {

class FleetServer {
 public:
  struct Options {
    std::string state_directory;
    // IP:PORT or unix:/PATH. May be empty: then only this process can call. Port 0: any.
    std::vector<std::string> listen = {};
    // Without TLS beyond loopback.
    bool insecure = false;
    bool reflection = true;
    VolumeRules rules = {};
  };

  // Opens the state directory and serves. `clock` and `log` must outlive the server.
  //
  // FAILED_PRECONDITION  the state directory is in use, or plain text would leave this machine.
  // INVALID_ARGUMENT     an address that cannot be listened on.
  // UNAVAILABLE          an address is in use.
  // others               see Coordinator::Open.
  static absl::StatusOr<std::unique_ptr<FleetServer>> Start(const Options& options, Clock& clock,
                                                            Log& log);
  // Shuts down at once.
  virtual ~FleetServer() = default;

  // What is listened on, with the ports that were chosen.
  virtual const std::vector<std::string>& addresses() const = 0;

  // Reaches the services without a port.
  virtual std::shared_ptr<grpc::Channel> InProcessChannel() = 0;

  // What is due: to be called every few seconds.
  virtual void Tick() = 0;

  // Tells callers that nothing is served any more, gives calls under way `grace` to end, breaks
  // them off and returns when the last one has ended. Once.
  virtual void Shutdown(absl::Duration grace) = 0;
};

// Whether plain text to this address stays on this machine: loopback and Unix sockets.
bool StaysOnMachine(absl::string_view address);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_SERVER_H_
