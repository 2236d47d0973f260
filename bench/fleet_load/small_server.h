// The coordinator behind a port of the loopback and nothing else: what is measured when no command
// of a whole coordinator is given.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_SMALL_SERVER_H_
#define ONEFOLD_BENCH_FLEET_LOAD_SMALL_SERVER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace onefold::bench {

// Serves until SIGTERM.
absl::Status Serve(const std::string& state_directory, int64_t port);

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_SMALL_SERVER_H_
