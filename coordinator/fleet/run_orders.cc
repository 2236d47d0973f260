#include "coordinator/fleet/run_orders.h"

#include <algorithm>

namespace onefold::fleet {

v1::RunOrder OrderFor(const FleetRun& run, bool stop, absl::Duration time_left) {
  v1::RunOrder order;
  order.set_run_id(run.id());
  order.set_volume_uuid(run.record.volume_uuid());
  order.set_dry_run(run.record.dry_run());
  order.set_full(run.record.full());
  order.set_attempt(run.record.attempt());
  if (run.rules != nullptr) {
    *order.mutable_scope() = run.rules->scope;
    *order.mutable_throttle() = run.rules->throttle;
  }
  if (time_left != absl::InfiniteDuration()) {
    time_left = std::max(time_left, absl::ZeroDuration());
    order.mutable_time_left()->set_seconds(absl::ToInt64Seconds(time_left));
    order.mutable_time_left()->set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(time_left % absl::Seconds(1))));
  }
  if (run.wish() == Wish::kCancel) {
    order.set_action(v1::RunOrder::ACTION_CANCEL);
  } else {
    order.set_action(stop ? v1::RunOrder::ACTION_PAUSE : v1::RunOrder::ACTION_RUN);
  }
  return order;
}

v1::RunOrder OrderForReported(const v1::RunStatus& status, const FleetRun* run) {
  v1::RunOrder order;
  order.set_run_id(status.run_id());
  if (run != nullptr) order.set_volume_uuid(run->record.volume_uuid());
  order.set_attempt(status.attempt());
  const bool over = IsEnded(status.state()) || status.state() == v1::RUN_STATE_WAITING;
  if (over) {
    order.set_action(v1::RunOrder::ACTION_FORGET);
  } else if (run == nullptr || run->ended()) {
    order.set_action(v1::RunOrder::ACTION_CANCEL);
  } else {
    order.set_action(v1::RunOrder::ACTION_PAUSE);  // until it has a slot again
  }
  return order;
}

}  // namespace onefold::fleet
