// The command line of fleet_load.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_OPTIONS_H_
#define ONEFOLD_BENCH_FLEET_LOAD_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace onefold::bench {

struct Options {
  int64_t extent_count = 1'000'000;  // of all volumes together
  int64_t volume_count = 1;
  int64_t stream_count = 0;  // uploads at a time; 0: all volumes
  int64_t worker_count = 1000;
  int64_t sync_seconds = 10;   // each worker calls Sync so often while there is load
  int64_t change_percent = 0;  // calls in a hundred that tell what the coordinator has to write
  int64_t idle_seconds = 60;   // 0: idle fleet is not measured
  int64_t seed = 1;
  int64_t duplicate_percent = 10;
  bool plan = true;         // fetch the plan of the first volume
  std::string state;        // directory; empty: one below /tmp, removed afterwards
  std::string coordinator;  // command; {state} and {port} are filled in. Empty: a small server
  std::string json;         // file for the figures; "-": standard output
  std::string serve;        // be that small server, on this state directory
  int64_t port = 0;         // with `serve`
  std::string upload_to;    // only upload, to the coordinator at this address
  bool help = false;
};

// INVALID_ARGUMENT: the message says what is wrong.
absl::StatusOr<Options> ParseOptions(int argc, char** argv);

extern const char kOptionsHelp[];

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_OPTIONS_H_
