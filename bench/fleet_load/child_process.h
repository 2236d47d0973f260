// ChildProcess: what is measured, or makes load, in a process of its own, and what the kernel says
// about it.
//
// Not thread-safe, but for the readings.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_CHILD_PROCESS_H_
#define ONEFOLD_BENCH_FLEET_LOAD_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace onefold::bench {

class ChildProcess {
 public:
  // Runs `command` with its output going to ours. It is killed with this object, or if we die.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command);
  ~ChildProcess();

  bool alive() const;
  // Processor time it has used, in all.
  absl::Duration cpu() const;
  // Of that, what the threads whose names begin with `name` have used that are alive.
  absl::Duration cpu_of_threads(const std::string& name) const;
  // Its largest resident set since the last ForgetPeak.
  int64_t peak_rss_bytes() const;
  // Needs root; without, the peak is that of the whole life.
  void ForgetPeak() const;
  // Waits for its end and returns whether it ended well.
  absl::Status Wait();
  // The same after asking it to end.
  absl::Status Stop();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  std::string Read(const std::string& name) const;

  const pid_t pid_;
  bool ended_ = false;
};

// A TCP port of the loopback that is free now.
absl::StatusOr<int> FreePort();

// Bytes on disk of all files below `directory`.
int64_t BytesBelow(const std::string& directory);

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_CHILD_PROCESS_H_
