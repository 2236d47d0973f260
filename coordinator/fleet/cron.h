// Cron: which minutes of the calendar a schedule means. Knows nothing of time zones; Schedule does.
//
//   cron   := minute hour day month weekday | "@hourly" | "@daily" | "@midnight" | "@weekly" |
//             "@monthly" | "@yearly" | "@annually"
//   field  := item ("," item)*        item := ("*" | value | value "-" value) ["/" step]
//   value  := number | name           names: jan…dec, sun…sat; weekdays 0 and 7 are Sunday
//
// As in Vixie cron, a day matches if day and weekday match; when neither field begins with "*", one
// of them is enough ("0 3 1,15 * mon": the 1st, the 15th and every Monday).
//
// Immutable.

#ifndef ONEFOLD_COORDINATOR_FLEET_CRON_H_
#define ONEFOLD_COORDINATOR_FLEET_CRON_H_

#include <bitset>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"

namespace onefold::fleet {

class Cron {
 public:
  // INVALID_ARGUMENT with the field and what is wrong with it; also if no day ever matches (30th of
  // February).
  static absl::StatusOr<Cron> Parse(absl::string_view text);

  // The first minute that matches, not before `from`.
  absl::CivilMinute FirstFrom(absl::CivilMinute from) const;

  // Every hour of the day is meant: the schedule counts elapsed time, not a time of day.
  bool every_hour() const { return hours_.all(); }

  // As it was given, blanks tidied.
  const std::string& text() const { return text_; }

 private:
  Cron() = default;

  bool Matches(absl::CivilDay day) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;     // 1 to 31
  std::bitset<13> months_;   // 1 to 12
  std::bitset<7> weekdays_;  // 0 is Sunday
  bool either_day_ = false;  // one of days_ and weekdays_ is enough
  std::string text_;
};

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_CRON_H_
