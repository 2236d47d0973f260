// fleet_load: a fleet of simulated workers against a real coordinator, over TCP. See --help and
// bench/README.md.

#include <absl/synchronization/mutex.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "bench/fleet_load/fleet_load.h"
#include "bench/fleet_load/load_phases.h"
#include "bench/fleet_load/options.h"
#include "bench/fleet_load/small_server.h"

namespace onefold::bench {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "fleet_load: %s\n", status.ToString().c_str());
  return 1;
}

// A connection is a file, here and in the coordinator that we start.
void AllowManyFiles() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int Measure(Options options) {
  const bool own_state = options.state.empty();
  if (own_state) {
    char name[] = "/tmp/fleet_load.XXXXXX";
    if (mkdtemp(name) == nullptr) return Fail(absl::ErrnoToStatus(errno, "a directory"));
    options.state = name;
  }
  const auto figures = MeasureFleet(options, "/proc/self/exe");
  std::error_code ignored;
  if (own_state) std::filesystem::remove_all(options.state, ignored);
  if (!figures.ok()) return Fail(figures.status());
  const std::string json = FiguresJson(*figures);
  if (options.json == "-") {
    std::fputs(json.c_str(), stdout);
  } else {
    std::fputs(FiguresText(*figures).c_str(), stdout);
    if (!options.json.empty()) std::ofstream(options.json) << json;
  }
  return 0;
}

int Main(int argc, char** argv) {
  // Debian's absl::Mutex, which gRPC uses, aborts on what it takes for a deadlock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const auto options = ParseOptions(argc, argv);
  if (!options.ok()) return Fail(options.status());
  if (options->help) {
    std::fputs(kOptionsHelp, stdout);
    return 0;
  }
  AllowManyFiles();
  if (!options->serve.empty()) {
    const absl::Status served = Serve(options->serve, options->port);
    return served.ok() ? 0 : Fail(served);
  }
  if (!options->upload_to.empty()) {
    const auto uploaded = UploadVolumes(options->upload_to, *options);
    return uploaded.ok() ? 0 : Fail(uploaded.status());
  }
  return Measure(*options);
}

}  // namespace
}  // namespace onefold::bench

int main(int argc, char** argv) { return onefold::bench::Main(argc, argv); }
