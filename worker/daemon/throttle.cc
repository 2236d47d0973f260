#include "worker/daemon/throttle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace onefold {
namespace {

// Fewer operations than this say nothing about a device.
constexpr int64_t kOperationsMin = 4;

}  // namespace

void RateLimit::SetRate(int64_t per_second, absl::Duration now) {
  per_second = std::max<int64_t>(per_second, 0);
  if (per_second == per_second_) return;
  if (per_second_ == 0) {  // begins with a full second
    credit_ = static_cast<double>(per_second);
    filled_at_ = now;
  } else {
    Refill(now);
  }
  per_second_ = per_second;
}

void RateLimit::Refill(absl::Duration now) {
  const double rate = static_cast<double>(per_second_);
  credit_ = std::min(rate, credit_ + rate * absl::ToDoubleSeconds(now - filled_at_));
  filled_at_ = now;
}

absl::Duration RateLimit::Wait(absl::Duration now) {
  if (per_second_ == 0) return absl::ZeroDuration();
  Refill(now);
  if (credit_ > 0) return absl::ZeroDuration();
  return absl::Seconds(-credit_ / static_cast<double>(per_second_)) + absl::Milliseconds(1);
}

DiskTimes ParseDiskstats(absl::string_view text, const std::vector<std::string>& devices) {
  DiskTimes sum;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    // major minor name reads merged sectors ms writes merged sectors ms …
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (fields.size() < 11 ||
        std::find(devices.begin(), devices.end(), fields[2]) == devices.end()) {
      continue;
    }
    int64_t reads = 0, read_millis = 0, writes = 0, write_millis = 0;
    if (!absl::SimpleAtoi(fields[3], &reads) || !absl::SimpleAtoi(fields[6], &read_millis) ||
        !absl::SimpleAtoi(fields[7], &writes) || !absl::SimpleAtoi(fields[10], &write_millis)) {
      continue;
    }
    sum.operation_count += reads + writes;
    sum.millis += read_millis + write_millis;
  }
  return sum;
}

std::optional<double> ParseLoad(absl::string_view text) {
  double load = 0;
  if (!absl::SimpleAtod(text.substr(0, text.find(' ')), &load)) return std::nullopt;
  return load;
}

void PressureLimit::SetLimits(double load_max, absl::Duration latency_max) {
  load_max_ = load_max;
  latency_max_ = latency_max;
}

std::string PressureLimit::Judge(std::optional<double> load, const DiskTimes& disks) {
  const std::optional<DiskTimes> before = std::exchange(before_, disks);
  if (load_max_ > 0 && load.has_value() && *load > load_max_) {
    return absl::StrFormat("load %.1f is above %.1f", *load, load_max_);
  }
  if (latency_max_ <= absl::ZeroDuration() || !before.has_value()) return "";
  const int64_t operations = disks.operation_count - before->operation_count;
  if (operations < kOperationsMin) return "";
  const absl::Duration latency = absl::Milliseconds(disks.millis - before->millis) / operations;
  if (latency <= latency_max_) return "";
  return absl::StrFormat("disk latency %.1f ms is above %.1f ms",
                         absl::ToDoubleMilliseconds(latency),
                         absl::ToDoubleMilliseconds(latency_max_));
}

}  // namespace onefold
