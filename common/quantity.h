// Sizes and durations, as people type them. Pure.

#ifndef ONEFOLD_COMMON_QUANTITY_H_
#define ONEFOLD_COMMON_QUANTITY_H_

#include <cstdint>

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

}  // namespace onefold

#endif  // ONEFOLD_COMMON_QUANTITY_H_
