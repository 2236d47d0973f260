// Executor: carries out drops. Each move is one (source, destination) pair; moves from one source
// range go into one call with many destinations.
//
// The time of a dedupe goes into reading: the kernel compares page by page without readahead. So
// both ranges are read with large preads just before the call, by several threads, which keeps
// several operations in flight. What was not in the page cache before is dropped from it
// afterwards.
//
// Relocated moves come first: what they need is written to a scratch file and shared from there, so
// that the kernel compares these bytes too. Killed between them and the others, what is left of the
// extent has a match everywhere; the other way round, what has none would be left.
//
// No two threads ever dedupe one inode at a time (kernel hangs, docs/decisions).

#ifndef ONEFOLD_WORKER_EXECUTOR_H_
#define ONEFOLD_WORKER_EXECUTOR_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/mutex.h"
#include "common/stop.h"
#include "worker/dedupe_answer.h"
#include "worker/operation_gate.h"
#include "worker/progress.h"
#include "worker/settle.h"
#include "worker/volume.h"

namespace onefold {

// What became of one drop.
struct Execution {
  // True if every move was answered "same": the extent is gone after the next commit, unless
  // somebody took a new reference meanwhile.
  bool moved = false;
  // Bytes of the moves that were answered "same".
  int64_t shared_bytes = 0;
  // On-disk bytes that were written anew and are in use.
  int64_t written_bytes = 0;
  // If not moved: the first answer that was not "same".
  DedupeAnswer failure = DedupeAnswer::kSame;
  int error = 0;        // errno, where there is one
  InodeId failed_file;  // whose answer it was: a destination's or, if that fails, a source's
};

class Executor {
 public:
  struct Options {
    int thread_count = 4;
    // Destinations of one call, at most kDedupeDestinationsMax: so many files (and their source)
    // each thread holds open.
    size_t destinations_max = 8;
    // Before a busy destination is asked again; longer each time.
    std::chrono::milliseconds retry_pause{50};
    // Where scratch files are made; not needed without relocated moves.
    InodeId scratch_directory = {};
    // Must outlive the executor; nullptr: nothing holds it up.
    OperationGate* gate = nullptr;
  };

  // All arguments must outlive this object.
  Executor(Volume& volume, Options options, StopSignal& stop, Progress& progress);

  // Executes `drops`; the result has one entry for each. Returns early on `stop` (what was not
  // started is kStopped), when the gate is closed, or when an answer ends the whole run (see
  // fatal()). Not thread-safe.
  std::vector<Execution> Execute(const std::vector<Drop>& drops);

  // Set when the filesystem cannot go on: an answer that would be the same for every request
  // (kUnsupported, kNoSpace, kQuota, or kReadOnly).
  DedupeAnswer fatal() const { return static_cast<DedupeAnswer>(fatal_.load()); }

 private:
  struct Call;
  class Batch;

  // Whether nothing asks it to stop and the gate is open.
  bool MayStart() const {
    return !stop_.requested() && (options_.gate == nullptr || options_.gate->MayStart());
  }

  Volume& volume_;
  const Options options_;
  StopSignal& stop_;
  Progress& progress_;
  std::atomic<int> fatal_{static_cast<int>(DedupeAnswer::kSame)};
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_EXECUTOR_H_
