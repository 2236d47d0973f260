// MaintenanceWindow: when runs may work.
//
//   window := [days blank] HH:MM "-" HH:MM        days := day-or-range ("," day-or-range)*
//
// "22:00-06:00" spans midnight; "sat,sun 00:00-24:00", "fri-sun 22:00-06:00". The days say when it
// opens. Several are joined. Times are of the policy's time zone; a window that lies wholly in an
// hour that is skipped keeps its length and opens at the change.
//
// Immutable.

#ifndef ONEFOLD_COORDINATOR_FLEET_WINDOW_H_
#define ONEFOLD_COORDINATOR_FLEET_WINDOW_H_

#include <bitset>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onefold::fleet {

class MaintenanceWindow {
 public:
  // INVALID_ARGUMENT with the reason.
  static absl::StatusOr<MaintenanceWindow> Parse(absl::string_view text);

  // An instance of the window: [opens, closes).
  struct Span {
    absl::Time opens;
    absl::Time closes;
  };
  // The instance that holds `now`, else the next one.
  Span At(absl::Time now, absl::TimeZone zone) const;

  // As it was given, blanks tidied.
  const std::string& text() const { return text_; }

 private:
  MaintenanceWindow() = default;

  std::bitset<7> days_;  // 0 is Sunday
  int begin_ = 0;        // minutes of the day
  int end_ = 0;          // of the same day; above 1440 when it spans midnight
  std::string text_;
};

// Until when work may go on at `now`: InfiniteFuture without windows, InfinitePast if none is open.
// Windows that overlap or touch are one.
absl::Time OpenUntil(const std::vector<MaintenanceWindow>& windows, absl::Time now,
                     absl::TimeZone zone);

// When the next one opens; requires that there are some and none is open.
absl::Time OpensNext(const std::vector<MaintenanceWindow>& windows, absl::Time now,
                     absl::TimeZone zone);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_WINDOW_H_
