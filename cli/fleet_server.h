// FleetServer: the coordinator of a fleet behind gRPC: which services, on which addresses, with
// which limits.
//
// Besides the addresses of its configuration it listens on STATE/control.sock, for this machine's
// administrator. On Unix sockets and loopback addresses plain text is spoken and the caller is
// believed (the filesystem, or the machine, is the fence); on all others TLS with the fleet's
// certificates, unless `insecure`.

#ifndef ONEFOLD_CLI_FLEET_SERVER_H_
#define ONEFOLD_CLI_FLEET_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/web/web_options.h"
#include "common/clock.h"
#include "common/log.h"
#include "coordinator/volume_rules.h"

namespace grpc {
class Channel;
}

namespace onefold {

// Thread-safe, but for Tick and Shutdown, which one thread calls.
class FleetServer {
 public:
  struct Options {
    std::string state_directory;
    // IP:PORT or unix:/PATH. May be empty: then only this machine's administrator and this process
    // can call. Port 0: any.
    std::vector<std::string> listen = {};
    // HOST:PORT that workers are told; may be empty.
    std::string public_address = {};
    // Without TLS everywhere.
    bool insecure = false;
    bool reflection = true;
    // See Coordinator::Options.
    int64_t memory_bytes = 0;
    int64_t free_bytes_min = 0;
    absl::Duration lease_ttl = absl::Minutes(5);
    VolumeRules rules = {};
    int64_t runs_at_once = 0;  // 0: no limit
    WebOptions web = {};
    // Where figures for node_exporter are written; empty: nowhere.
    std::string textfile = {};
  };

  // Opens the state directory and serves. A web page that cannot be served is told to the log, and
  // tried again: deduping does not wait for it. `clock` and `log` must outlive the server.
  //
  // FAILED_PRECONDITION  the state directory is in use.
  // UNAVAILABLE          an address cannot be listened on.
  // others               see Coordinator::Open, Fleet::Open and Identity::Open.
  static absl::StatusOr<std::unique_ptr<FleetServer>> Start(const Options& options, Clock& clock,
                                                            Log& log);
  // Shuts down at once.
  virtual ~FleetServer() = default;

  // What is listened on, with the ports that were chosen.
  virtual const std::vector<std::string>& addresses() const = 0;

  // Reaches the services without a port.
  virtual std::shared_ptr<grpc::Channel> InProcessChannel() = 0;

  // Does what is due; to be called about once a second.
  virtual void Tick() = 0;

  // Tells callers that nothing is served any more, gives calls under way `grace` to end, breaks
  // them off and returns when the last one has ended. Once.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_SERVER_H_
