// RunRegistry: runs of equal blocks between two files that were planned already. Every extent of a
// run may be a query of its own; without this, a file of n extents would be compared n times.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_RUN_REGISTRY_H_
#define ONEFOLD_WORKER_RUN_REGISTRY_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/mutex.h"
#include "worker/outcome.h"
#include "worker/volume.h"

namespace onefold {

class RunRegistry {
  using Key = std::tuple<InodeId, InodeId, int64_t>;

 public:
  // [begin, end) of `file` lies at + shift in `other`.
  struct Run {
    InodeId file;
    InodeId other;
    int64_t shift = 0;
    int64_t begin = 0;
    int64_t end = 0;
    // The comparison ended there for its own limits: the data may be equal beyond.
    bool open_begin = false;
    bool open_end = false;
  };
  // What came of it.
  struct Verdict {
    bool drops_something = false;
    Holder holder = Holder::kNone;  // what is in the way if not
  };
  // What a look-up asks: an equal range of the two files, and the span of `file` that the extent in
  // question takes there.
  struct Query {
    InodeId file;
    InodeId other;
    int64_t shift = 0;
    int64_t begin = 0;
    int64_t end = 0;
    int64_t span_begin = 0;
    int64_t span_end = 0;
  };

  void Add(const Run& run, const Verdict& verdict) {
    MutexLock lock(&mutex_);
    if (runs_.size() >= kRunsMax) runs_.clear();  // then runs are compared again; nothing is lost
    runs_[{run.file, run.other, run.shift}].push_back(
        {run.begin, run.end, run.open_begin, run.open_end, verdict});
    runs_[{run.other, run.file, -run.shift}].push_back(
        {run.begin + run.shift, run.end + run.shift, run.open_begin, run.open_end, verdict});
  }

  // The verdict of a run of these files that holds the range, for an extent of that span: one that
  // reaches beyond where data differs was not dropped with the run. Nothing if no run is known, or
  // only one that was cut within the span.
  std::optional<Verdict> Find(const Query& wanted) {
    MutexLock lock(&mutex_);
    const auto found = runs_.find({wanted.file, wanted.other, wanted.shift});
    if (found == runs_.end()) return std::nullopt;
    for (const Known& known : found->second) {
      if (wanted.begin < known.begin || known.end < wanted.end) continue;
      const bool before = wanted.span_begin < known.begin;
      const bool behind = wanted.span_end > known.end;
      if ((before && known.open_begin) || (behind && known.open_end)) continue;
      if (before || behind) return Verdict{.holder = Holder::kUnmatchedBlocks};
      return known.verdict;
    }
    return std::nullopt;
  }

  // Comparing two files at one shift is for one thread at a time: the others would find the same
  // run. Waits for its turn; Find again then.
  class Turn {
   public:
    Turn(RunRegistry& registry, const Query& query) : registry_(registry), key_(KeyOf(query)) {
      MutexLock lock(&registry_.mutex_);
      while (registry_.compared_.contains(key_)) registry_.turn_ended_.Wait(&registry_.mutex_);
      registry_.compared_.insert(key_);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      MutexLock lock(&registry_.mutex_);
      registry_.compared_.erase(key_);
      registry_.turn_ended_.NotifyAll();
    }

   private:
    RunRegistry& registry_;
    const Key key_;
  };

  // Files change between batches that deduped something.
  void Clear() {
    MutexLock lock(&mutex_);
    runs_.clear();
  }

 private:
  static constexpr size_t kRunsMax = 65536;
  template <typename T>
  static Key KeyOf(const T& run) {  // the same from both sides
    return std::min(Key(run.file, run.other, run.shift), Key(run.other, run.file, -run.shift));
  }
  struct Known {
    int64_t begin;
    int64_t end;
    bool open_begin;
    bool open_end;
    Verdict verdict;
  };
  Mutex mutex_;
  CondVar turn_ended_;
  absl::flat_hash_set<Key> compared_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Key, std::vector<Known>> runs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_RUN_REGISTRY_H_
