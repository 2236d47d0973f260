#include "worker/daemon/run_gate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onefold {
namespace {

constexpr absl::Duration kSampleInterval = absl::Seconds(1);
// How long a stop may go unnoticed.
constexpr absl::Duration kNapMax = absl::Milliseconds(50);

std::string ReadText(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

SystemPressureSource::SystemPressureSource(const std::string& uuid) {
  std::error_code error;
  std::filesystem::directory_iterator entry(absl::StrCat("/sys/fs/btrfs/", uuid, "/devices"),
                                            error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    devices_.push_back(entry->path().filename().string());
  }
}

std::optional<double> SystemPressureSource::Load() { return ParseLoad(ReadText("/proc/loadavg")); }

DiskTimes SystemPressureSource::Disks() {
  return ParseDiskstats(ReadText("/proc/diskstats"), devices_);
}

absl::Duration RunGate::Ask(int64_t read_bytes, int64_t request_count, std::string& reason) {
  const v1::RunThrottle limits = ticket_.throttle();
  const absl::Duration now = clock_.Monotonic();
  MutexLock lock(&mutex_);
  bytes_.SetRate(limits.read_bytes_per_second(), now);
  requests_.SetRate(limits.requests_per_second(), now);
  limit_.SetLimits(limits.load_max(), absl::Seconds(limits.device_latency_max().seconds()) +
                                          absl::Nanoseconds(limits.device_latency_max().nanos()));
  if (!limit_.has_limits()) {
    held_by_.clear();
  } else if (now >= next_sample_) {
    next_sample_ = now + kSampleInterval;
    held_by_ = limit_.Judge(pressure_.Load(), pressure_.Disks());
  }
  if (!held_by_.empty()) {
    reason = held_by_;
    return std::max(next_sample_ - now, absl::Milliseconds(1));
  }
  const absl::Duration for_bytes = bytes_.Wait(now);
  const absl::Duration for_requests = requests_.Wait(now);
  const absl::Duration wait = std::max(for_bytes, for_requests);
  if (wait > absl::ZeroDuration()) {
    reason = for_bytes >= for_requests
                 ? absl::StrFormat("reads at most %.1f MiB/s",
                                   static_cast<double>(limits.read_bytes_per_second()) / (1 << 20))
                 : absl::StrFormat("at most %d requests/s", limits.requests_per_second());
    return wait;
  }
  bytes_.Spend(read_bytes);
  requests_.Spend(request_count);
  return absl::ZeroDuration();
}

void RunGate::Wait(int64_t read_bytes, int64_t request_count, const StopSignal& stop) {
  while (!stop.requested() && MayStart()) {
    std::string reason;
    absl::Duration wait = Ask(read_bytes, request_count, reason);
    ticket_.SetThrottledBy(reason);
    if (wait <= absl::ZeroDuration()) return;
    wait = std::min(wait, kNapMax);
    std::this_thread::sleep_for(absl::ToChronoMicroseconds(wait));
  }
}

}  // namespace onefold
