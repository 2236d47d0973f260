// LocalCoordinator: the coordinator inside this process, spoken to through gRPC as over a network,
// but without a port.
//
// Thread-safe, but for records().

#ifndef ONEFOLD_CLI_LOCAL_COORDINATOR_H_
#define ONEFOLD_CLI_LOCAL_COORDINATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/run_store.h"
#include "common/clock.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/coordinator_client.h"

namespace onefold {

class LocalCoordinator {
 public:
  // Opens the state directory, creating what is absent. `clock` must outlive this object. Errors:
  // see Coordinator::Open.
  static absl::StatusOr<std::unique_ptr<LocalCoordinator>> Open(const std::string& state_directory,
                                                                Clock& clock);
  virtual ~LocalCoordinator() = default;

  virtual RecordStore& records() = 0;
  // Sentences for people about what was noticed while opening.
  virtual const std::vector<std::string>& warnings() const = 0;
  // A client for one volume, to be destroyed before this object. Starts the server if need be.
  virtual std::unique_ptr<CoordinatorClient> NewClient() = 0;
  // Answers what dashboards ask, on a Unix socket in the state directory (mode 0600), until this
  // object goes. `runs`: how the runs that are under way stand; thread-safe. Once, when the run has
  // been noted. UNAVAILABLE: it cannot be listened on; work is not touched by it.
  virtual absl::Status ServeQueries(std::function<std::vector<v1::RunStatus>()> runs) = 0;
  // Gives back what deleted rows occupy. Blocks.
  virtual absl::Status Compact() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_LOCAL_COORDINATOR_H_
