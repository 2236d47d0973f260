#include "coordinator/hit_upload.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"

namespace onefold::index {

HitUpload::HitUpload(const OrderedStore& store, Volume& volume, uint64_t incarnation, bool full)
    : volume_(volume),
      incarnation_(incarnation),
      full_(full),
      new_head_count_(volume.Record().new_head_count()),
      matcher_(store, volume, incarnation) {}

absl::Status HitUpload::Add(const std::vector<Hit>& hits) {
  gathered_.insert(gathered_.end(), hits.begin(), hits.end());
  ++batch_count_;
  return gathered_.size() < kHitsPerPortion ? absl::OkStatus() : MatchGathered();
}

absl::Status HitUpload::End() {
  RETURN_IF_ERROR(MatchGathered());
  RETURN_IF_ERROR(matcher_.MatchEqualHeads(full_));
  if (!full_) return absl::OkStatus();
  return volume_.Update(incarnation_, [&](VolumeRecord& record, RowBatch&) {
    record.set_new_head_count(std::max<int64_t>(0, record.new_head_count() - new_head_count_));
    return absl::OkStatus();
  });
}

absl::Status HitUpload::MatchGathered() {
  RETURN_IF_ERROR(matcher_.MatchHits(std::exchange(gathered_, {})));
  durable_batch_count_ = batch_count_;
  return absl::OkStatus();
}

}  // namespace onefold::index
