#include "cli/quantity.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onefold {

std::string BytesText(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.95 would be shown as "1024.0".
  while (std::abs(value) >= (unit == 0 ? 1024 : 1023.95) && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return absl::StrCat(bytes, " B");
  return absl::StrFormat(std::abs(value) < 9.995 ? "%.2f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string DurationText(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds < 9.95) return absl::StrFormat("%.1f s", std::max(seconds, 0.0));
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e15)));
  const int64_t days = whole / 86400;
  const int64_t hours = whole / 3600 % 24;
  const int64_t minutes = whole / 60 % 60;
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrCat(minutes, " min ", whole % 60, " s");
  if (days == 0) return absl::StrCat(hours, " h ", minutes, " min");
  return absl::StrCat(days, " d ", hours, " h");
}

std::string CountText(int64_t count) {
  std::string digits = absl::StrCat(count);
  const int first = count < 0 ? 1 : 0;
  for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) digits.insert(at, ",");
  return digits;
}

int Percent(int64_t part, int64_t whole) {
  if (whole <= 0 || part <= 0) return 0;
  if (part >= whole) return 100;
  return static_cast<int>(static_cast<double>(part) * 100 / static_cast<double>(whole));
}

}  // namespace onefold
