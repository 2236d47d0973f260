// What the simulated workers do: upload their volumes, look things up meanwhile, fetch a plan.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_LOAD_PHASES_H_
#define ONEFOLD_BENCH_FLEET_LOAD_LOAD_PHASES_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/fleet_load/options.h"
#include "bench/fleet_load/sync_load.h"
#include "common/mutex.h"

namespace onefold::bench {

// Uploads all volumes, `options.stream_count` at a time, and returns when everything is durable:
// the number of extents. Shows on stderr how far it is.
absl::StatusOr<int64_t> UploadVolumes(const std::string& address, const Options& options);

struct PlanFigures {
  absl::Duration first_group;
  absl::Duration total;
  int64_t group_count = 0;
  int64_t member_count = 0;
};

// Fetches the plan of whole extents of a volume, from end to end.
absl::StatusOr<PlanFigures> FetchWholePlan(const std::string& address, int64_t volume);

// LookUps: a small volume of its own whose plan is fetched every half second, and must be complete
// each time. Thread-safe.
class LookUps {
 public:
  LookUps(const std::string& address, int64_t volume, uint64_t seed);
  ~LookUps();

  // What was measured since the last Take. Failures are plans that failed or lacked groups.
  Latencies Take();

 private:
  void Run();
  absl::Status Once();

  const std::string address_;
  const int64_t volume_;
  const uint64_t seed_;
  int64_t group_count_ = -1;
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  Latencies latencies_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_LOAD_PHASES_H_
