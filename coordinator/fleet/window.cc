#include "coordinator/fleet/window.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/fleet/schedule.h"

namespace onefold::fleet {
namespace {

constexpr int kMinutesPerDay = 24 * 60;
constexpr size_t kTextBytesMax = 128;
// Days of windows that touch each other and are looked at as one; more is as good as for ever.
constexpr int kJoinsMax = 32;

absl::Status Wrong(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\" is no maintenance window: write \"22:00-06:00\" or, with days, \"fri-sun 22:00-06:00\""));
}

std::optional<int> ParseDay(absl::string_view text) {
  constexpr absl::string_view kDays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
  for (int day = 0; day < 7; ++day) {
    if (absl::AsciiStrToLower(text) == kDays[day]) return day;
  }
  return std::nullopt;
}

bool ParseDays(absl::string_view text, std::bitset<7>& days) {
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(item, '-');
    const std::optional<int> first = ParseDay(ends.front());
    const std::optional<int> last = ParseDay(ends.back());
    if (!first || !last || ends.size() > 2) return false;
    for (int day = *first;; day = (day + 1) % 7) {
      days.set(day);
      if (day == *last) break;
    }
  }
  return true;
}

// Minutes of the day, "00:00" to "24:00".
std::optional<int> ParseTimeOfDay(absl::string_view text) {
  const auto digit = [&](size_t at) { return text[at] - '0'; };
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const size_t at : {0, 1, 3, 4}) {
    if (!absl::ascii_isdigit(text[at])) return std::nullopt;
  }
  const int hour = digit(0) * 10 + digit(1);
  const int minute = digit(3) * 10 + digit(4);
  if (minute > 59 || hour * 60 + minute > kMinutesPerDay) return std::nullopt;
  return hour * 60 + minute;
}

}  // namespace

absl::StatusOr<MaintenanceWindow> MaintenanceWindow::Parse(absl::string_view text) {
  if (text.size() > kTextBytesMax) return Wrong(text.substr(0, kTextBytesMax));
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty() || words.size() > 2) return Wrong(text);
  MaintenanceWindow window;
  window.text_ = absl::StrJoin(words, " ");
  if (words.size() == 1) {
    window.days_.set();
  } else if (!ParseDays(words[0], window.days_)) {
    return Wrong(text);
  }
  const std::vector<absl::string_view> ends = absl::StrSplit(words.back(), '-');
  if (ends.size() != 2) return Wrong(text);
  const std::optional<int> begin = ParseTimeOfDay(ends[0]);
  const std::optional<int> end = ParseTimeOfDay(ends[1]);
  if (!begin || !end || *begin == kMinutesPerDay) return Wrong(text);
  if (*begin == *end) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is empty; the whole day is \"00:00-24:00\""));
  }
  window.begin_ = *begin;
  window.end_ = *end > *begin ? *end : *end + kMinutesPerDay;
  return window;
}

MaintenanceWindow::Span MaintenanceWindow::At(absl::Time now, absl::TimeZone zone) const {
  // The one that opened yesterday may still be open; eight days ahead there is one again.
  for (absl::CivilDay day = absl::CivilDay(zone.At(now).cs) - 1;; ++day) {
    if (!days_.test((static_cast<int>(absl::GetWeekday(day)) + 1) % 7)) continue;
    const absl::CivilMinute midnight(day);
    const absl::Time opens = InstantOf(midnight + begin_, zone);
    absl::Time closes = InstantOf(midnight + end_, zone);
    if (closes <= opens) closes = opens + absl::Minutes(end_ - begin_);
    if (closes > now) return {.opens = opens, .closes = closes};
  }
}

absl::Time OpenUntil(const std::vector<MaintenanceWindow>& windows, absl::Time now,
                     absl::TimeZone zone) {
  if (windows.empty()) return absl::InfiniteFuture();
  absl::Time until = absl::InfinitePast();
  absl::Time at = now;
  for (int join = 0; join < kJoinsMax; ++join) {
    absl::Time closes = until;
    for (const MaintenanceWindow& window : windows) {
      const MaintenanceWindow::Span span = window.At(at, zone);
      if (span.opens <= at) closes = std::max(closes, span.closes);
    }
    if (closes <= until) return until;
    until = closes;
    at = closes;
  }
  return absl::InfiniteFuture();
}

absl::Time OpensNext(const std::vector<MaintenanceWindow>& windows, absl::Time now,
                     absl::TimeZone zone) {
  absl::Time opens = absl::InfiniteFuture();
  for (const MaintenanceWindow& window : windows) {
    opens = std::min(opens, window.At(now, zone).opens);
  }
  return opens;
}

}  // namespace onefold::fleet
