#include "coordinator/fleet/cron.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/status_macros.h"

namespace onefold::fleet {
namespace {

constexpr size_t kTextBytesMax = 256;
// The 29th of February is at most eight years away (1896 to 1904); a day with a given weekday is
// never needed together with it: then one of both is enough, or weekday is "*" with a step.
constexpr int kYearsAhead = 41;

constexpr std::array<absl::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<absl::string_view, 7> kWeekdays = {"sun", "mon", "tue", "wed",
                                                        "thu", "fri", "sat"};

struct Field {
  absl::string_view name;
  int least;
  int greatest;
  absl::Span<const absl::string_view> names;  // the first one means `least`
};
const Field kFields[] = {{"minute", 0, 59, {}},
                         {"hour", 0, 23, {}},
                         {"day of month", 1, 31, {}},
                         {"month", 1, 12, kMonths},
                         {"day of week", 0, 7, kWeekdays}};

constexpr std::pair<absl::string_view, absl::string_view> kNicknames[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"}};

absl::Status Wrong(const Field& field, absl::string_view item, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(field.name, " \"", item, "\": ", why));
}

absl::StatusOr<int> ParseValue(const Field& field, absl::string_view item, absl::string_view text) {
  for (size_t i = 0; i < field.names.size(); ++i) {
    if (absl::AsciiStrToLower(text) == field.names[i]) return field.least + static_cast<int>(i);
  }
  int value = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!digits || !absl::SimpleAtoi(text, &value) || value < field.least || value > field.greatest) {
    return Wrong(field, item,
                 absl::StrCat("must be ", field.least, " to ", field.greatest,
                              field.names.empty() ? std::string()
                                                  : absl::StrCat(" or ", field.names.front(), "…",
                                                                 field.names.back()),
                              ", \"*\", a range \"a-b\", a step \"*/n\" or a list of these"));
  }
  return value;
}

// Calls `add` with every value the item means.
template <typename Add>
absl::Status ParseItem(const Field& field, absl::string_view item, Add add) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(item, absl::MaxSplits('/', 1));
  int step = 1;
  if (item.find('/') != item.npos &&
      (!absl::SimpleAtoi(parts.second, &step) || step < 1 || step > field.greatest)) {
    return Wrong(field, item, absl::StrCat("the step must be 1 to ", field.greatest));
  }
  int from = field.least;
  int to = field.greatest;
  if (parts.first != "*") {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(parts.first, absl::MaxSplits('-', 1));
    ASSIGN_OR_RETURN(from, ParseValue(field, item, ends.first));
    to = from;
    if (parts.first.find('-') != item.npos) {
      ASSIGN_OR_RETURN(to, ParseValue(field, item, ends.second));
    } else if (item.find('/') != item.npos) {
      return Wrong(field, item, "a step needs a range or \"*\" before it");
    }
    // "fri-sun": Sunday ends a week as well as it begins one.
    if (field.greatest == 7 && to == 0 && from > 0) to = 7;
    if (from > to) return Wrong(field, item, "the range ends before it begins");
  } else if (field.greatest == 7) {
    to = 6;
  }
  for (int value = from; value <= to; value += step) add(value);
  return absl::OkStatus();
}

template <size_t kSize>
absl::Status ParseField(const Field& field, absl::string_view text, std::bitset<kSize>& bits) {
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    RETURN_IF_ERROR(ParseItem(field, item, [&](int value) { bits.set(value % kSize); }));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> Expand(absl::string_view text) {
  if (text.substr(0, 1) != "@") return text;
  for (const auto& [name, meaning] : kNicknames) {
    if (absl::AsciiStrToLower(text) == name) return meaning;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no schedule: write five fields (\"0 2 * * sat\"), @hourly, @daily, "
                   "@weekly, @monthly or @yearly"));
}

}  // namespace

absl::StatusOr<Cron> Cron::Parse(absl::string_view text) {
  if (text.size() > kTextBytesMax) return absl::InvalidArgumentError("the schedule is too long");
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  Cron cron;
  cron.text_ = absl::StrJoin(words, " ");
  ASSIGN_OR_RETURN(const absl::string_view expanded, Expand(cron.text_));
  const std::vector<absl::string_view> fields = absl::StrSplit(expanded, ' ');
  if (fields.size() != 5) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a schedule has five fields (minute hour day-of-month month day-of-week), not ",
        cron.text_.empty() ? 0 : fields.size()));
  }
  RETURN_IF_ERROR(ParseField(kFields[0], fields[0], cron.minutes_));
  RETURN_IF_ERROR(ParseField(kFields[1], fields[1], cron.hours_));
  RETURN_IF_ERROR(ParseField(kFields[2], fields[2], cron.days_));
  RETURN_IF_ERROR(ParseField(kFields[3], fields[3], cron.months_));
  RETURN_IF_ERROR(ParseField(kFields[4], fields[4], cron.weekdays_));
  cron.either_day_ = fields[2][0] != '*' && fields[4][0] != '*';
  const absl::CivilDay begin(2000, 1, 1);
  for (absl::CivilDay day = begin; !cron.Matches(day); ++day) {
    if (day.year() > begin.year() + kYearsAhead) {
      return absl::InvalidArgumentError(absl::StrCat("no day ever matches \"", cron.text_, "\""));
    }
  }
  return cron;
}

bool Cron::Matches(absl::CivilDay day) const {
  if (!months_.test(day.month())) return false;
  const bool by_day = days_.test(day.day());
  // absl counts from Monday = 0.
  const bool by_weekday = weekdays_.test((static_cast<int>(absl::GetWeekday(day)) + 1) % 7);
  return either_day_ ? by_day || by_weekday : by_day && by_weekday;
}

absl::CivilMinute Cron::FirstFrom(absl::CivilMinute from) const {
  for (absl::CivilDay day(from);; ++day) {
    CHECK(day.year() <= from.year() + kYearsAhead + 8);  // Parse made sure of it
    if (!Matches(day)) continue;
    const bool first_day = day == absl::CivilDay(from);
    for (int hour = first_day ? from.hour() : 0; hour < 24; ++hour) {
      if (!hours_.test(hour)) continue;
      const bool first_hour = first_day && hour == from.hour();
      for (int minute = first_hour ? from.minute() : 0; minute < 60; ++minute) {
        if (!minutes_.test(minute)) continue;
        return absl::CivilMinute(day.year(), day.month(), day.day(), hour, minute);
      }
    }
  }
}

}  // namespace onefold::fleet
