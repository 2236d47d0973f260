// Sizes and durations, as people read them; common/quantity.h knows how they type them. Pure.

#ifndef ONEFOLD_CLI_QUANTITY_H_
#define ONEFOLD_CLI_QUANTITY_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/quantity.h"

namespace onefold {

// "512 B", "921.3 MiB", "2.00 TiB": three to four digits.
std::string BytesText(int64_t bytes);

// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
std::string DurationText(absl::Duration duration);

// "1,234,567".
std::string CountText(int64_t count);

// Part of whole in percent, 0 to 100; 0 if there is no whole.
int Percent(int64_t part, int64_t whole);

}  // namespace onefold

#endif  // ONEFOLD_CLI_QUANTITY_H_
