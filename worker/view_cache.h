// ViewCache: views of extents with many references, for all settling threads of a batch. In a
// fragmented file thousands of small extents find their match in one large one, whose references
// cost milliseconds to look up: without this, once for each of them.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_VIEW_CACHE_H_
#define ONEFOLD_WORKER_VIEW_CACHE_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"
#include "worker/extent_view.h"

namespace onefold {

class ViewCache {
 public:
  // nullptr: not known.
  std::shared_ptr<const ExtentView> Find(uint64_t address) {
    MutexLock lock(&mutex_);
    const auto found = views_.find(address);
    return found == views_.end() ? nullptr : found->second;
  }

  // Keeps the view if it is worth it and there is room.
  void Add(const ExtentView& view) {
    const bool is_costly =
        view.references.size() >= kReferencesMin || view.holder == Holder::kTooManyReferences;
    if (!is_costly) return;
    MutexLock lock(&mutex_);
    const int64_t cost = 1 + static_cast<int64_t>(view.references.size());
    if (reference_count_ + cost > kReferencesKeptMax) return;
    if (views_.try_emplace(view.address, std::make_shared<const ExtentView>(view)).second) {
      reference_count_ += cost;
    }
  }

  void Clear() {
    MutexLock lock(&mutex_);
    views_.clear();
    reference_count_ = 0;
  }

 private:
  static constexpr size_t kReferencesMin = 8;
  static constexpr int64_t kReferencesKeptMax = 65536;  // about 90 bytes each

  Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::shared_ptr<const ExtentView>> views_ ABSL_GUARDED_BY(mutex_);
  int64_t reference_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_VIEW_CACHE_H_
