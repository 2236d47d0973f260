#include "coordinator/fleet/schedule.h"

#include <algorithm>

namespace onefold::fleet {
namespace {

absl::CivilMinute MinuteOf(absl::Time time, absl::TimeZone zone) {
  return absl::CivilMinute(zone.At(time).cs);
}

// The next change of the zone's offset after `after`, or nullopt.
std::optional<absl::Time> NextChange(absl::Time after, absl::TimeZone zone) {
  absl::TimeZone::CivilTransition change;
  if (!zone.NextTransition(after, &change)) return std::nullopt;
  // The civil second that is skipped, or that comes again, knows the instant of its change.
  return zone.At(std::min(change.from, change.to)).trans;
}

}  // namespace

absl::Time InstantOf(absl::CivilMinute minute, absl::TimeZone zone) {
  const absl::TimeZone::TimeInfo info = zone.At(absl::CivilSecond(minute));
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

absl::Time Schedule::NextAfter(absl::Time after) const {
  return cron_.every_hour() ? NextElapsed(after) : NextTimeOfDay(after);
}

absl::Time Schedule::NextTimeOfDay(absl::Time after) const {
  // InstantOf grows with its argument, so what lies before the present minute lies before `after`.
  absl::CivilMinute minute = MinuteOf(after, zone_);
  while (true) {
    minute = cron_.FirstFrom(minute + 1);
    const absl::Time due = InstantOf(minute, zone_);
    if (due > after) return due;
  }
}

absl::Time Schedule::NextElapsed(absl::Time after) const {
  // Between two changes of the offset the calendar runs evenly.
  absl::CivilMinute from = MinuteOf(after, zone_) + 1;
  while (true) {
    const absl::CivilMinute minute = cron_.FirstFrom(from);
    const absl::TimeZone::CivilInfo here = zone_.At(after);
    const absl::Time due = absl::FromCivil(absl::CivilSecond(minute), absl::UTCTimeZone()) -
                           absl::Seconds(here.offset);
    const std::optional<absl::Time> change = NextChange(after, zone_);
    if (!change || due < *change) return due;
    after = *change;
    const absl::CivilSecond there = zone_.At(after).cs;
    from = absl::CivilMinute(there);
    if (there.second() != 0) ++from;
  }
}

std::optional<absl::Time> Schedule::LatestIn(absl::Time after, absl::Time until) const {
  absl::Time due = NextAfter(after);
  if (due > until) return std::nullopt;
  // A week of "* * * * *" is 10,000 steps; begin near the end where that finds something.
  for (const absl::Duration back : {absl::Hours(1), absl::Hours(48)}) {
    const absl::Time near = until - back;
    if (near <= due) continue;
    if (const absl::Time later = NextAfter(near); later <= until) {
      due = later;
      break;
    }
  }
  for (absl::Time next = NextAfter(due); next <= until; next = NextAfter(due)) due = next;
  return due;
}

}  // namespace onefold::fleet
