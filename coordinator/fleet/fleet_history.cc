// What a Fleet keeps of its figures over time, and how all of it is looked at.

#include <algorithm>
#include <utility>

#include "coordinator/fleet/fleet.h"
#include "coordinator/fleet/limits.h"
#include "coordinator/state_keys.h"

namespace onefold {
namespace {

using index::FleetHistoryKey;
using index::RowBatch;
using storage::v1::HistoryRecord;

int64_t HourOf(absl::Time time) { return absl::ToUnixSeconds(time) / 3600; }

// Adds what is known.
void Add(const HistoryRecord& volume, HistoryRecord& sum) {
  if (volume.has_used_bytes()) sum.set_used_bytes(sum.used_bytes() + volume.used_bytes());
  if (volume.has_waiting_bytes()) {
    sum.set_waiting_bytes(sum.waiting_bytes() + volume.waiting_bytes());
  }
  if (volume.has_pinned_bytes()) sum.set_pinned_bytes(sum.pinned_bytes() + volume.pinned_bytes());
}

}  // namespace

const fleet::Books& Fleet::Glance::books() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return fleet_.books_;
}

v1::Host Fleet::Glance::View(const fleet::Host& host) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return fleet_.ViewHost(host, now_);
}

v1::Run Fleet::Glance::View(const fleet::FleetRun& run) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return fleet_.ViewRun(run, now_);
}

bool Fleet::Glance::IsSilent(const fleet::Host& host) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return fleet::IsSilent(host, fleet_.Rules(), now_);
}

std::optional<int64_t> Fleet::Glance::WaitingBytes(const VolumeUuid& volume) const {
  return fleet_.options_.waiting_bytes ? fleet_.options_.waiting_bytes(volume) : std::nullopt;
}

void Fleet::Look(absl::FunctionRef<void(const Glance&)> look) const {
  const Instant now = Now();
  MutexLock lock(&mutex_);
  look(Glance(*this, now));
}

absl::StatusOr<std::vector<Fleet::HistoryRow>> Fleet::History(const VolumeUuid& volume,
                                                              int64_t first, int64_t last) const {
  std::vector<HistoryRow> history;
  const auto rows = state_.Walk(index::FleetHistoryPrefix(volume));
  for (rows->Seek(FleetHistoryKey(volume, std::max<int64_t>(first, 0))); rows->Valid();
       rows->Next()) {
    const std::optional<int64_t> hour = index::ParseFleetHistoryHour(rows->key());
    HistoryRow row;
    if (!hour || !row.record.ParseFromString(std::string(rows->value()))) {
      return absl::DataLossError("the record of an hour is damaged");
    }
    if (*hour > last) break;
    row.hour = *hour;
    history.push_back(std::move(row));
  }
  if (!rows->status().ok()) return rows->status();
  return history;
}

absl::Status Fleet::KeepHistory(Instant now) {
  const int64_t hour = HourOf(now.wall);
  if (hour == history_hour_ || books_.hosts.hosts().empty()) return absl::OkStatus();
  std::map<VolumeUuid, int64_t> pinned;  // as of the last run
  for (const auto& [number, run] : books_.runs.runs()) {
    if (run.ended() && !run.record.dry_run() && run.record.result().has_bytes_pinned()) {
      pinned[run.volume] = run.record.result().bytes_pinned();
    }
  }
  std::map<VolumeUuid, HistoryRecord> records;
  HistoryRecord sum;
  for (const fleet::OwnedVolume& owned : books_.hosts.OwnedVolumes()) {
    const VolumeUuid& uuid = owned.volume->uuid;
    HistoryRecord& record = records[uuid];
    if (owned.volume->mounted.size_bytes() > 0) {
      record.set_used_bytes(owned.volume->mounted.used_bytes());
    }
    const auto waiting =
        options_.waiting_bytes ? options_.waiting_bytes(uuid) : std::optional<int64_t>();
    if (waiting) record.set_waiting_bytes(*waiting);
    if (const auto known = pinned.find(uuid); known != pinned.end()) {
      record.set_pinned_bytes(known->second);
    }
    Add(record, sum);
    // No run at all: then nothing was freed, and that is known.
    const auto totals = books_.volume_totals.find(uuid);
    record.set_freed_bytes(totals == books_.volume_totals.end() ? 0 : totals->second.freed_bytes());
    record.set_freed_at_least(totals != books_.volume_totals.end() && totals->second.incomplete());
  }
  sum.set_freed_bytes(books_.totals.freed_bytes());
  sum.set_freed_at_least(books_.totals.incomplete());
  records[VolumeUuid()] = std::move(sum);

  RowBatch rows;
  std::map<VolumeUuid, std::string> latest;
  for (const auto& [uuid, record] : records) {
    std::string bytes = record.SerializeAsString();
    const auto before = history_rows_.find(uuid);
    if (before == history_rows_.end() || before->second != bytes) {
      rows.Put(FleetHistoryKey(uuid, hour), bytes);
    }
    latest[uuid] = std::move(bytes);
    // The day that has become a week old keeps its first row; what is too old goes.
    if (hour % 24 != 0 && history_hour_ != 0) continue;
    const int64_t week_old = hour - fleet::kHistoryHoursAll;
    const auto old = state_.Walk(index::FleetHistoryPrefix(uuid));
    int64_t day = -1;
    for (old->Seek(FleetHistoryKey(uuid, 0)); old->Valid(); old->Next()) {
      const std::optional<int64_t> at = index::ParseFleetHistoryHour(old->key());
      if (!at || *at >= week_old) break;
      if (*at / 24 == day || *at < hour - fleet::kHistoryHoursMax) rows.Delete(old->key());
      day = *at / 24;
    }
  }
  if (!rows.empty()) {
    mutex_.Unlock();
    const absl::Status written = state_.Write(rows);
    mutex_.Lock();
    if (!written.ok()) return written;
  }
  history_hour_ = hour;
  history_rows_ = std::move(latest);
  return absl::OkStatus();
}

}  // namespace onefold
