// Schedule: a Cron in a time zone. Turns minutes of the calendar into instants, such that changes
// of daylight-saving time run a job neither twice nor never:
//
//   - A time of day that is skipped means the instant of the change (02:30 → 03:00 in Berlin).
//   - A time of day that comes twice means the first time.
//   - A schedule that names every hour ("*/10 * * * *", @hourly) counts elapsed time: it goes on
//     through an hour that comes twice, and there is nothing to make up for in one that is skipped.
//
// Immutable.

#ifndef ONEFOLD_COORDINATOR_FLEET_SCHEDULE_H_
#define ONEFOLD_COORDINATOR_FLEET_SCHEDULE_H_

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "coordinator/fleet/cron.h"

namespace onefold::fleet {

// The instant a minute of the calendar means: the first of two, the end of a gap.
absl::Time InstantOf(absl::CivilMinute minute, absl::TimeZone zone);

class Schedule {
 public:
  Schedule(Cron cron, absl::TimeZone zone) : cron_(std::move(cron)), zone_(zone) {}

  // The first instant it is due after `after`.
  absl::Time NextAfter(absl::Time after) const;

  // The latest instant in (after, until], or nullopt: however many were missed, it is one.
  std::optional<absl::Time> LatestIn(absl::Time after, absl::Time until) const;

  const Cron& cron() const { return cron_; }
  const absl::TimeZone& zone() const { return zone_; }

 private:
  absl::Time NextTimeOfDay(absl::Time after) const;
  absl::Time NextElapsed(absl::Time after) const;

  Cron cron_;
  absl::TimeZone zone_;
};

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_SCHEDULE_H_
