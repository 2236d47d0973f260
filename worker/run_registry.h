// RunRegistry: runs of equal blocks between two files that were planned already. Every extent of a
// run may be a query of its own; without this, a file of n extents would be compared n times.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_RUN_REGISTRY_H_
#define ONEFOLD_WORKER_RUN_REGISTRY_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"
#include "worker/outcome.h"
#include "worker/volume.h"

namespace onefold {

class RunRegistry {
 public:
  // [begin, end) of `file` lies at + shift in `other`.
  struct Run {
    InodeId file;
    InodeId other;
    int64_t shift = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };
  // What came of it.
  struct Verdict {
    bool drops_something = false;
    Holder holder = Holder::kNone;  // what is in the way if not
  };

  void Add(const Run& run, const Verdict& verdict) {
    MutexLock lock(&mutex_);
    if (runs_.size() >= kRunsMax) runs_.clear();  // then runs are compared again; nothing is lost
    runs_[{run.file, run.other, run.shift}].push_back({run.begin, run.end, verdict});
    runs_[{run.other, run.file, -run.shift}].push_back(
        {run.begin + run.shift, run.end + run.shift, verdict});
  }

  // The verdict on a run of these files that holds [begin, end) of `file`.
  std::optional<Verdict> Find(const Run& wanted) {
    MutexLock lock(&mutex_);
    const auto found = runs_.find({wanted.file, wanted.other, wanted.shift});
    if (found == runs_.end()) return std::nullopt;
    for (const Known& known : found->second) {
      if (known.begin <= wanted.begin && wanted.end <= known.end) return known.verdict;
    }
    return std::nullopt;
  }

  // Files change between batches that deduped something.
  void Clear() {
    MutexLock lock(&mutex_);
    runs_.clear();
  }

 private:
  static constexpr size_t kRunsMax = 65536;
  struct Known {
    int64_t begin;
    int64_t end;
    Verdict verdict;
  };
  Mutex mutex_;
  absl::flat_hash_map<std::tuple<InodeId, InodeId, int64_t>, std::vector<Known>> runs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_RUN_REGISTRY_H_
