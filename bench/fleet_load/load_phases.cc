#include "bench/fleet_load/load_phases.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "bench/fleet_load/extent_source.h"
#include "bench/fleet_load/fleet_connection.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace onefold::bench {
namespace {

constexpr int64_t kTargetGeneration = 100'000;
constexpr int64_t kLookUpExtents = 2000;
constexpr absl::Duration kLookUpPause = absl::Milliseconds(500);

absl::Duration Now() { return SystemClock().Monotonic(); }

// Extents of volume `volume`, when they are spread evenly.
int64_t ShareOf(const Options& options, int64_t volume) {
  const int64_t share = options.extent_count / options.volume_count;
  return share + (volume < options.extent_count % options.volume_count ? 1 : 0);
}

absl::Status UploadVolume(const std::string& address, int64_t volume,
                          const ExtentSource::Options& options, std::atomic<int64_t>& sent) {
  ASSIGN_OR_RETURN(const auto leased, LeasedVolume::Open(address, volume));
  ASSIGN_OR_RETURN(const auto upload, leased->client().BeginScan(kTargetGeneration));
  ExtentSource source(options);
  uint64_t end = 0;
  for (ExtentRow row; source.Next(row);) {
    RETURN_IF_ERROR(upload->CompleteBelow(row.address));
    RETURN_IF_ERROR(upload->Add(row));
    end = row.address + 1;
    sent.fetch_add(1, std::memory_order_relaxed);
  }
  RETURN_IF_ERROR(upload->CompleteBelow(end));
  ASSIGN_OR_RETURN(const IndexTotals totals, upload->End());
  if (totals.extent_count == options.extent_count) return absl::OkStatus();
  return absl::DataLossError("the index has not as many extents as were sent");
}

}  // namespace

absl::StatusOr<int64_t> UploadVolumes(const std::string& address, const Options& options) {
  std::atomic<int64_t> next = 0;
  std::atomic<int64_t> sent = 0;
  std::atomic<int64_t> left = options.stream_count;
  Mutex mutex;
  absl::Status failure;
  std::vector<std::thread> streams;
  for (int64_t stream = 0; stream < options.stream_count; ++stream) {
    streams.emplace_back([&] {
      for (int64_t volume = next++; volume < options.volume_count; volume = next++) {
        const absl::Status status =
            UploadVolume(address, volume,
                         {.seed = static_cast<uint64_t>(options.seed + volume),
                          .extent_count = ShareOf(options, volume),
                          .duplicate_percent = static_cast<int>(options.duplicate_percent)},
                         sent);
        MutexLock lock(&mutex);
        failure.Update(status);
        if (!failure.ok()) break;
      }
      --left;
    });
  }
  int64_t before = 0;
  for (absl::Duration shown = Now(); left > 0;) {
    absl::SleepFor(absl::Milliseconds(20));
    if (Now() - shown < absl::Seconds(5)) continue;
    shown += absl::Seconds(5);
    const int64_t now = sent;
    std::fprintf(stderr, "  %lld sent, %lld/s\n", static_cast<long long>(now),
                 static_cast<long long>((now - before) / 5));
    before = now;
  }
  for (std::thread& stream : streams) stream.join();
  RETURN_IF_ERROR(failure, "uploading");
  return sent;
}

absl::StatusOr<PlanFigures> FetchWholePlan(const std::string& address, int64_t volume) {
  ASSIGN_OR_RETURN(const auto leased, LeasedVolume::Open(address, volume));
  const absl::Duration begun = Now();
  ASSIGN_OR_RETURN(const auto plan, leased->client().FetchPlan(PlanKind::kWhole));
  PlanFigures figures;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<Group> groups, plan->Next());
    if (figures.group_count == 0) figures.first_group = Now() - begun;
    if (groups.empty()) break;
    figures.group_count += static_cast<int64_t>(groups.size());
    for (const Group& group : groups) {
      figures.member_count += static_cast<int64_t>(group.members.size());
    }
  }
  figures.total = Now() - begun;
  return figures;
}

LookUps::LookUps(const std::string& address, int64_t volume, uint64_t seed)
    : address_(address), volume_(volume), seed_(seed), thread_([this] { Run(); }) {}

LookUps::~LookUps() {
  stop_ = true;
  thread_.join();
}

Latencies LookUps::Take() {
  MutexLock lock(&mutex_);
  return std::exchange(latencies_, {});
}

void LookUps::Run() {
  std::atomic<int64_t> sent = 0;
  const ExtentSource::Options extents{
      .seed = seed_, .extent_count = kLookUpExtents, .duplicate_percent = 30};
  absl::Status status = UploadVolume(address_, volume_, extents, sent);
  while (!stop_) {
    const absl::Duration begun = Now();
    if (status.ok()) status = Once();
    {
      MutexLock lock(&mutex_);
      latencies_.taken.push_back(Now() - begun);
      if (!status.ok()) {
        ++latencies_.failure_count;
        std::fprintf(stderr, "look-up: %s\n", status.ToString().c_str());
      }
    }
    status = absl::OkStatus();
    absl::SleepFor(kLookUpPause);
  }
}

absl::Status LookUps::Once() {
  ASSIGN_OR_RETURN(const PlanFigures plan, FetchWholePlan(address_, volume_));
  if (group_count_ < 0) group_count_ = plan.group_count;
  if (plan.group_count > 0 && plan.group_count == group_count_) return absl::OkStatus();
  return absl::DataLossError("groups are missing");
}

}  // namespace onefold::bench
