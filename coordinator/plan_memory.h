// PlanMemory: how many candidates the plans under way may hold, all together. The more a plan
// holds, the fewer passes over the index it takes; with kCandidatesMax, any plan can do.

#ifndef ONEFOLD_COORDINATOR_PLAN_MEMORY_H_
#define ONEFOLD_COORDINATOR_PLAN_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/mutex.h"
#include "coordinator/plan_stream.h"

namespace onefold::index {

// Thread-safe.
class PlanMemory {
 public:
  explicit PlanMemory(size_t candidates) : left_(candidates) {}

  // What one plan holds, until it is destroyed.
  class Share {
   public:
    ~Share() { memory_.GiveBack(taken_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    size_t candidates_max() const { return std::max(taken_, kCandidatesMax); }

   private:
    friend class PlanMemory;
    Share(PlanMemory& memory, size_t taken) : memory_(memory), taken_(taken) {}

    PlanMemory& memory_;
    const size_t taken_;
  };

  // For a plan of a volume with so many extents. The memory must outlive the share.
  Share Take(int64_t extent_count) {
    MutexLock lock(&mutex_);
    const size_t taken = std::min(left_, static_cast<size_t>(std::max<int64_t>(extent_count, 0)));
    left_ -= taken;
    return {*this, taken};
  }

 private:
  void GiveBack(size_t candidates) {
    MutexLock lock(&mutex_);
    left_ += candidates;
  }

  Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_PLAN_MEMORY_H_
