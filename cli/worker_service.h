// WorkerService: the worker of this host with everything real: its state directory, the system's
// mounts, gRPC. What `onefold worker` and `onefold standalone` run.
//
// Thread-safe.

#ifndef ONEFOLD_CLI_WORKER_SERVICE_H_
#define ONEFOLD_CLI_WORKER_SERVICE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/log.h"

namespace grpc {
class Channel;
}

namespace onefold {

class WorkerService {
 public:
  struct Options {
    // HOST:PORT or unix:/PATH; not used with `home`.
    std::string coordinator = {};
    // Reaches the coordinator of this process; null: it is dialled.
    std::shared_ptr<grpc::Channel> home = nullptr;
    std::string state_directory;
    // Further directories of onefold itself, which no run may touch.
    std::vector<std::string> own_directories = {};
    std::string name = {};  // empty: the host's
    std::map<std::string, std::string> labels = {};
    std::vector<std::string> allow = {};
    int thread_count_max = 0;  // 0: chosen by the number of cores
    int runs_at_once = 2;
    // Without TLS beyond this machine.
    bool insecure = false;
  };

  // Takes the state directory and begins to work; whether a coordinator answers is not waited for.
  // `clock` and `log` must outlive the service.
  //
  // PERMISSION_DENIED    privileges are missing; the message names them.
  // FAILED_PRECONDITION  the state directory is in use or others may write in it, the host has not
  //                      joined, or plain text would leave this machine.
  static absl::StatusOr<std::unique_ptr<WorkerService>> Start(const Options& options, Clock& clock,
                                                              Log& log);
  virtual ~WorkerService() = default;

  // What is due, to be called every few seconds.
  virtual void Tick() = 0;
  // For people: "2 runs under way".
  virtual std::string StatusText() = 0;
  // Ends the work and tells the coordinator, within `patience`. False: a run still works; then only
  // ending the process helps.
  virtual bool Stop(absl::Duration patience) = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_WORKER_SERVICE_H_
