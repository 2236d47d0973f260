// SyncLoad: connected workers that have nothing to do but to call Sync, each over a connection of
// its own. Calls begin when they are due, however late earlier ones are answered.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_SYNC_LOAD_H_
#define ONEFOLD_BENCH_FLEET_LOAD_SYNC_LOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace onefold::bench {

// How long calls took.
struct Latencies {
  std::vector<absl::Duration> taken;
  int64_t failure_count = 0;

  // The call that `percent` in a hundred are not slower than; zero if there was none. Sorts.
  absl::Duration Percentile(double percent);
};

// Thread-safe.
class SyncLoad {
 public:
  virtual ~SyncLoad() = default;
  // From now on each worker calls once in `interval`.
  virtual void SetInterval(absl::Duration interval) = 0;
  // From now on so many calls in a hundred, spread evenly, tell what is new, so that it is written.
  virtual void SetChanges(int64_t percent) = 0;
  // What was measured since the last Take.
  virtual Latencies Take() = 0;
};

// Connects `worker_count` workers and waits until each has been answered once. Worker n reports
// volume n.
std::unique_ptr<SyncLoad> StartSyncLoad(const std::string& address, int64_t worker_count,
                                        absl::Duration interval);

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_SYNC_LOAD_H_
