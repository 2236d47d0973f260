#include "bench/fleet_load/small_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <malloc.h>
#include <signal.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "coordinator/coordinator.h"

namespace onefold::bench {

absl::Status Serve(const std::string& state_directory, int64_t port) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // of all threads that follow
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Coordinator> coordinator,
      Coordinator::Open({.state_directory = state_directory, .memory_bytes = kFleetMemoryBytes},
                        SystemClock()));
  mallopt(M_ARENA_MAX, 2);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials());
  builder.RegisterService(&coordinator->service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError(absl::StrCat("port ", port, " is taken"));
  int signal = 0;
  sigwait(&ends, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  return absl::OkStatus();
}

}  // namespace onefold::bench
