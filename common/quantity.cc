#include "common/quantity.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

}  // namespace onefold
