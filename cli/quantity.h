// Sizes and durations, as people type and read them. Pure.

#ifndef ONEFOLD_CLI_QUANTITY_H_
#define ONEFOLD_CLI_QUANTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onefold {

// "4096", "4K", "4KiB", "1.5M", "2g": units of 1024, K M G T P with or without "B" or "iB", case
// does not matter. INVALID_ARGUMENT with the reason, also for what does not fit into 63 bits.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);

// "90s", "10m", "4h", "2d", "1h30m", "1.5h": units s m h d, each at most once, largest first; a
// bare number is seconds. INVALID_ARGUMENT with the reason, also for zero and for more than a year.
absl::StatusOr<absl::Duration> ParseTimeSpan(absl::string_view text);

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
