// HitUpload: gathers windows that met the filter of heads and has them matched in large portions:
// sorted by digest, 64k of them cost little more than a walk over the heads.
//
// Not thread-safe. An upload that is destroyed without End leaves matches that are right but not
// all.

#ifndef ONEFOLD_COORDINATOR_HIT_UPLOAD_H_
#define ONEFOLD_COORDINATOR_HIT_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/head_matcher.h"

namespace onefold::index {

// 1.5 MB of hits, and 2 MB of places while they are matched.
inline constexpr size_t kHitsPerPortion = 65536;

class HitUpload {
 public:
  // `full`: every window of the volume is streamed. `store` and `volume` must outlive the upload.
  HitUpload(const OrderedStore& store, Volume& volume, uint64_t incarnation, bool full);

  absl::Status Add(const std::vector<Hit>& hits);
  // Matches the rest, and extents whose heads are equal. After a full pass no head is new any more.
  absl::Status End();

  const HeadMatcher::Counts& counts() const { return matcher_.counts(); }
  // Calls of Add whose hits are matched, durably.
  int64_t durable_batch_count() const { return durable_batch_count_; }

 private:
  absl::Status MatchGathered();

  Volume& volume_;
  const uint64_t incarnation_;
  const bool full_;
  // Heads that were new when the pass began: those that come meanwhile have not been in its filter.
  const int64_t new_head_count_;
  HeadMatcher matcher_;
  std::vector<Hit> gathered_;
  int64_t batch_count_ = 0;
  int64_t durable_batch_count_ = 0;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_HIT_UPLOAD_H_
