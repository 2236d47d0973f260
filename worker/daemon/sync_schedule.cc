#include "worker/daemon/sync_schedule.h"

#include <algorithm>

namespace onefold {
namespace {

// What a coordinator may ask for.
constexpr absl::Duration kDelayMin = absl::Seconds(1);
constexpr absl::Duration kDelayMax = absl::Minutes(10);
// Between calls, however much there is to tell.
constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kBackoffMin = absl::Seconds(1);
constexpr absl::Duration kBackoffMax = absl::Minutes(5);
constexpr absl::Duration kTellAgain = absl::Hours(24);

}  // namespace

void SyncSchedule::Changed(absl::Duration now) {
  changed_ = true;
  if (failures_ == 0) next_ = std::min(next_, std::max(now, begun_at_ + kSoon));
}

void SyncSchedule::Begun(absl::Duration now) {
  begun_at_ = now;
  changed_ = false;
}

SyncSchedule::News SyncSchedule::Succeeded(absl::Duration delay, absl::Duration now) {
  const bool was_lost = failures_ > 0;
  failures_ = 0;
  next_ = now + std::clamp(delay, kDelayMin, kDelayMax);
  if (changed_) Changed(now);
  return was_lost ? News::kBack : News::kNone;
}

SyncSchedule::News SyncSchedule::Failed(absl::Duration now) {
  const int doublings = std::min(failures_++, 20);
  const absl::Duration backoff = std::min(kBackoffMin * (int64_t{1} << doublings), kBackoffMax);
  // Between half and one and a half: a thousand hosts do not come back in one moment.
  next_ = now + backoff * (0.5 + chance_());
  if (failures_ == 1) {
    told_at_ = now;
    return News::kLost;
  }
  if (now - told_at_ < kTellAgain) return News::kNone;
  told_at_ = now;
  return News::kStillLost;
}

}  // namespace onefold
