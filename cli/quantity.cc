#include "cli/quantity.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace onefold {
namespace {

constexpr absl::Duration kDurationMax = absl::Hours(24 * 366);

struct Number {
  double value = 0;
  bool whole = false;  // `exact` holds it
  int64_t exact = 0;
};

// Takes digits with at most one point from the front of `text`: no sign, no exponent, no "nan".
absl::StatusOr<Number> ConsumeNumber(absl::string_view& text) {
  const size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
  const absl::string_view digits = text.substr(0, size);
  Number number;
  number.whole = !absl::StrContains(digits, '.');
  const bool valid = !digits.empty() && absl::ascii_isdigit(digits.front()) &&
                     absl::ascii_isdigit(digits.back()) && absl::SimpleAtod(digits, &number.value);
  if (!valid) return absl::InvalidArgumentError("a number is missing");
  if (number.whole && !absl::SimpleAtoi(digits, &number.exact)) {
    return absl::InvalidArgumentError("the number is too large");
  }
  text.remove_prefix(size);
  return number;
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  const absl::string_view typed = text;
  const auto failed = [typed](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", typed, "' is no size: ", why, " (write it like 4096, 4K, 1MiB or 2G)"));
  };
  const absl::StatusOr<Number> number = ConsumeNumber(text);
  if (!number.ok()) return failed(number.status().message());
  std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  constexpr absl::string_view kUnits = "kmgtp";
  int shift = 0;
  if (!unit.empty() && absl::StrContains(kUnits, unit[0])) {
    shift = 10 * (static_cast<int>(kUnits.find(unit[0])) + 1);
    unit.erase(0, 1);
    if (unit == "ib") unit = "b";
  }
  if (!unit.empty() && unit != "b") return failed("its unit is not known");
  if (number->whole) {
    if (number->exact > INT64_MAX >> shift) return failed("it is too large");
    return number->exact << shift;
  }
  const double bytes = std::ldexp(number->value, shift);
  if (bytes >= 9.2e18) return failed("it is too large");
  return static_cast<int64_t>(bytes);
}

absl::StatusOr<absl::Duration> ParseTimeSpan(absl::string_view text) {
  const absl::string_view typed = text;
  const auto failed = [typed](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("'", typed, "' is no duration: ", why,
                                                   " (write it like 90s, 10m, 4h or 1h30m)"));
  };
  struct Unit {
    char letter;
    absl::Duration length;
  };
  constexpr Unit kUnits[] = {{'d', absl::Hours(24)},
                             {'h', absl::Hours(1)},
                             {'m', absl::Minutes(1)},
                             {'s', absl::Seconds(1)}};
  absl::Duration total;
  size_t next_unit = 0;
  do {
    const absl::StatusOr<Number> number = ConsumeNumber(text);
    if (!number.ok()) return failed(number.status().message());
    size_t unit = next_unit;
    if (text.empty() && next_unit == 0) {
      unit = std::size(kUnits) - 1;  // a bare number
    } else {
      if (text.empty()) return failed("a unit is missing");
      const char letter = absl::ascii_tolower(text.front());
      while (unit < std::size(kUnits) && kUnits[unit].letter != letter) ++unit;
      if (unit == std::size(kUnits)) return failed("units are d, h, m and s, largest first");
      text.remove_prefix(1);
    }
    total += number->value * kUnits[unit].length;
    next_unit = unit + 1;
  } while (!text.empty());
  if (total <= absl::ZeroDuration()) return failed("it must be more than nothing");
  if (total > kDurationMax) return failed("more than a year");
  return total;
}

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
