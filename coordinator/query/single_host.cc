#include "coordinator/query/single_host.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/status_macros.h"
#include "coordinator/keys.h"
#include "coordinator/state_keys.h"
#include "onefold/storage/v1/fleet.pb.h"
#include "onefold/storage/v1/run.pb.h"

namespace onefold::query {
namespace {

using index::OrderedStore;
using index::RowBatch;
using storage::v1::FleetRunRecord;
using storage::v1::FleetRunResult;
using storage::v1::FleetTotals;
using storage::v1::HistoryRecord;
using storage::v1::RunRecord;
using storage::v1::RunVolume;

constexpr absl::string_view kRunRecords = "run/";
constexpr int64_t kSecondsAnHour = 3600;

// Names are bytes, texts in messages UTF-8.
std::string Text(const std::string& bytes) { return IsUtf8(bytes) ? bytes : Escape(bytes); }

std::string NameOf(const v1::MountedVolume& volume) {
  if (!volume.label().empty()) return volume.label();
  return volume.mount_paths_size() > 0 ? volume.mount_paths(0) : "";
}

v1::RunState StateOf(const std::string& outcome) {
  if (outcome == "completed") return v1::RUN_STATE_COMPLETED;
  if (outcome == "incomplete" || outcome == "time_limit") return v1::RUN_STATE_INCOMPLETE;
  if (outcome == "interrupted") return v1::RUN_STATE_CANCELLED;
  return v1::RUN_STATE_FAILED;
}

std::string MessageOf(const std::string& outcome) {
  if (outcome == "completed" || outcome == "incomplete") return "";
  if (outcome == "time_limit") return "its time was over; the next run goes on from there";
  if (outcome == "interrupted") return "interrupted";
  if (outcome == "killed") return "killed, or the machine stopped";
  return outcome;
}

// Totals of all volumes: all that older programs kept.
FleetRunResult ResultOf(const RunRecord& record) {
  FleetRunResult result;
  if (record.has_freed_bytes()) result.set_bytes_freed(record.freed_bytes());
  if (record.has_shared_bytes()) result.set_bytes_shared(record.shared_bytes());
  if (record.has_pinned_bytes()) result.set_bytes_pinned(record.pinned_bytes());
  if (record.has_scanned_bytes()) result.set_bytes_scanned(record.scanned_bytes());
  result.set_problem_count(record.problem_count());
  return result;
}

FleetRunResult ResultOf(const RunVolume& volume) {
  FleetRunResult result;
  if (volume.has_extents_total()) result.set_extents_total(volume.extents_total());
  if (volume.has_extents_scanned()) result.set_extents_scanned(volume.extents_scanned());
  if (volume.has_scanned_bytes()) result.set_bytes_scanned(volume.scanned_bytes());
  if (volume.has_freed_bytes()) result.set_bytes_freed(volume.freed_bytes());
  if (volume.has_shared_bytes()) result.set_bytes_shared(volume.shared_bytes());
  if (volume.has_written_bytes()) result.set_bytes_written(volume.written_bytes());
  if (volume.has_pinned_bytes()) result.set_bytes_pinned(volume.pinned_bytes());
  result.mutable_pinned_by()->insert(volume.pinned_by().begin(), volume.pinned_by().end());
  if (volume.has_freeable_bytes()) result.set_bytes_expected(volume.freeable_bytes());
  result.set_problem_count(volume.problem_count());
  return result;
}

class Writer {
 public:
  Writer(const OrderedStore& state, const SingleHost& host) : state_(state), host_(host) {}

  absl::StatusOr<RowBatch> Write() {
    RETURN_IF_ERROR(ReadRecords());
    WriteHost();
    for (const auto& [number, run] : runs_) WriteRun(run);
    WriteTotals();
    return std::move(rows_);
  }

 private:
  absl::Status ReadRecords() {
    const auto rows = state_.Walk(index::RecordKey(kRunRecords));
    for (; rows->Valid(); rows->Next()) {
      RunRecord record;
      // One that is damaged is one that is not known.
      if (!record.ParseFromString(std::string(rows->value()))) continue;
      runs_[record.run_number()] = std::move(record);
    }
    RETURN_IF_ERROR(rows->status());
    ASSIGN_OR_RETURN(const std::optional<std::string> lifetime,
                     state_.Get(index::RecordKey("lifetime")));
    if (lifetime && !lifetime_.ParseFromString(*lifetime)) lifetime_.set_incomplete(true);
    if (lifetime_.has_open_run()) {
      RunRecord& open = *lifetime_.mutable_open_run();
      if (!host_.running) {
        open.set_outcome("killed");
        if (!open.dry_run()) lifetime_.set_incomplete(true);
      }
      runs_[open.run_number()] = open;
    }
    // Freed before the first run that is still known.
    freed_ = lifetime_.freed_bytes();
    for (const auto& [number, run] : runs_) {
      if (!run.dry_run()) freed_ -= run.freed_bytes();
    }
    freed_ = std::max<int64_t>(freed_, 0);
    first_is_known_ = static_cast<int64_t>(runs_.size()) >= lifetime_.run_count();
    return absl::OkStatus();
  }

  void WriteHost() {
    storage::v1::HostRecord record;
    record.set_display_name(host_.name);
    record.set_version(host_.version);
    record.set_last_seen_unix_seconds(absl::ToUnixSeconds(host_.now));
    for (const VolumeUuid& uuid : host_.indexed) {
      v1::MountedVolume mounted;
      mounted.set_trouble("not mounted");
      for (const v1::MountedVolume& each : host_.mounted) {
        if (each.volume_uuid() == ToBytes(uuid)) mounted = each;
      }
      storage::v1::HostVolumeRecord& volume = *record.add_volumes();
      volume.set_volume_uuid(ToBytes(uuid));
      volume.set_label(mounted.label());
      *volume.mutable_mount_paths() = mounted.mount_paths();
      *volume.mutable_allowed_roots() = mounted.allowed_roots();
      // It was worked on, whatever the last run's paths were.
      if (mounted.allowed_roots().empty()) *volume.mutable_allowed_roots() = mounted.mount_paths();
      if (volume.allowed_roots().empty()) volume.add_allowed_roots("/");
      volume.set_size_bytes(mounted.size_bytes());
      volume.set_used_bytes(mounted.used_bytes());
      volume.set_trouble(mounted.trouble());
      volume.set_duplicate_uuid(mounted.duplicate_uuid());
      names_[ToBytes(uuid)] = NameOf(mounted);
      storage::v1::VolumeClaimRecord claim;
      claim.set_host_id(kSingleHostId);
      rows_.Put(index::FleetClaimKey(uuid), claim.SerializeAsString());
    }
    rows_.Put(index::FleetHostKey(kSingleHostId), record.SerializeAsString());
  }

  void WriteRun(const RunRecord& record) {
    if (record.volumes().empty()) {
      RunVolume unknown;
      unknown.set_volume_uuid(ToBytes(VolumeUuid()));
      WriteRunOf(record, unknown, ResultOf(record), record.run_id());
    }
    for (int i = 0; i < record.volumes_size(); ++i) {
      const RunVolume& volume = record.volumes(i);
      if (!VolumeUuidFromBytes(volume.volume_uuid())) continue;
      WriteRunOf(record, volume, ResultOf(volume),
                 i == 0 ? record.run_id() : absl::StrCat(record.run_id(), "-", i + 1));
    }
    if (!record.outcome().empty() && !record.dry_run()) CountRun(record);
  }

  void WriteRunOf(const RunRecord& record, const RunVolume& volume, FleetRunResult result,
                  const std::string& run_id) {
    const bool ended = !record.outcome().empty();
    const int64_t start = record.start_time_unix_millis() / 1000;
    FleetRunRecord run;
    run.set_run_id(run_id);
    run.set_volume_uuid(volume.volume_uuid());
    const auto name = names_.find(volume.volume_uuid());
    run.set_volume_name(name != names_.end() && !name->second.empty() ? name->second
                                                                      : Text(volume.mount_path()));
    run.set_host_id(kSingleHostId);
    run.set_state(ended ? StateOf(record.outcome()) : v1::RUN_STATE_RUNNING);
    run.set_dry_run(record.dry_run());
    run.set_by_hand(true);
    run.set_create_unix_seconds(start);
    run.set_start_unix_seconds(start);
    if (ended) {
      run.set_end_unix_seconds(EndOf(record));
      result.set_message(MessageOf(record.outcome()));
      result.set_elapsed_millis(record.elapsed_millis());
      *run.mutable_result() = std::move(result);
    }
    rows_.Put(index::FleetRunKey(++run_count_), run.SerializeAsString());
  }

  // Its part of the sums and of the figures over time.
  void CountRun(const RunRecord& record) {
    const int64_t hour = EndOf(record) / kSecondsAnHour;
    if (record.has_freed_bytes()) {
      freed_ += record.freed_bytes();
    } else {
      freed_at_least_ = true;
    }
    HistoryRecord all;
    all.set_freed_bytes(freed_);
    all.set_freed_at_least(freed_at_least_);
    if (record.has_pinned_bytes()) all.set_pinned_bytes(record.pinned_bytes());
    rows_.Put(index::FleetHistoryKey(VolumeUuid(), hour), all.SerializeAsString());
    if (record.volumes().empty()) first_is_known_ = false;
    for (const RunVolume& volume : record.volumes()) {
      const std::optional<VolumeUuid> uuid = VolumeUuidFromBytes(volume.volume_uuid());
      if (!uuid) continue;
      FleetTotals& totals = totals_[*uuid];
      totals.set_run_count(totals.run_count() + 1);
      totals.set_freed_bytes(totals.freed_bytes() + volume.freed_bytes());
      totals.set_shared_bytes(totals.shared_bytes() + volume.shared_bytes());
      if (!volume.has_freed_bytes()) totals.set_incomplete(true);
      HistoryRecord history;
      history.set_freed_bytes(totals.freed_bytes());
      history.set_freed_at_least(totals.incomplete() || !first_is_known_);
      if (volume.has_pinned_bytes()) history.set_pinned_bytes(volume.pinned_bytes());
      rows_.Put(index::FleetHistoryKey(*uuid, hour), history.SerializeAsString());
    }
  }

  void WriteTotals() {
    FleetTotals all;
    all.set_run_count(lifetime_.run_count());
    all.set_freed_bytes(lifetime_.freed_bytes());
    all.set_incomplete(lifetime_.incomplete());
    rows_.Put(index::kFleetTotalsKey, all.SerializeAsString());
    for (const VolumeUuid& uuid : host_.indexed) totals_.try_emplace(uuid);
    for (auto& [uuid, totals] : totals_) {
      if (!first_is_known_) totals.set_incomplete(true);
      rows_.Put(index::FleetVolumeTotalsKey(uuid), totals.SerializeAsString());
    }
  }

  static int64_t EndOf(const RunRecord& record) {
    return (record.start_time_unix_millis() + record.elapsed_millis()) / 1000;
  }

  const OrderedStore& state_;
  const SingleHost& host_;
  std::map<int64_t, RunRecord> runs_;  // by number
  storage::v1::Lifetime lifetime_;
  std::map<std::string, std::string> names_;  // uuid, 16 bytes → name
  RowBatch rows_;
  int64_t run_count_ = 0;
  int64_t freed_ = 0;
  bool freed_at_least_ = false;
  // All runs are known, and what they did on which volume.
  bool first_is_known_ = true;
  std::map<VolumeUuid, FleetTotals> totals_;
};

}  // namespace

absl::StatusOr<bool> HasFleetBooks(const OrderedStore& state) {
  for (const absl::string_view prefix :
       {index::kFleetHostPrefix, index::kFleetPolicyPrefix, index::kFleetRunPrefix}) {
    const auto rows = state.Walk(prefix);
    if (rows->Valid()) return true;
    RETURN_IF_ERROR(rows->status());
  }
  return false;
}

absl::Status WriteBooks(const OrderedStore& state, const SingleHost& host, OrderedStore& books) {
  ASSIGN_OR_RETURN(const RowBatch rows, Writer(state, host).Write());
  return books.Write(rows);
}

absl::StatusOr<std::vector<CountedVolume>> ReadVolumes(const OrderedStore& index) {
  std::vector<CountedVolume> volumes;
  const auto rows = index.Walk(std::string(1, static_cast<char>(index::Kind::kVolume)));
  for (; rows->Valid(); rows->Next()) {
    CountedVolume volume;
    ASSIGN_OR_RETURN(volume.uuid, index::ParseVolumeKey(rows->key()));
    if (!volume.record.ParseFromString(std::string(rows->value()))) {
      return absl::DataLossError(absl::StrCat("record of volume ", ToString(volume.uuid)));
    }
    volumes.push_back(std::move(volume));
  }
  RETURN_IF_ERROR(rows->status());
  return volumes;
}

}  // namespace onefold::query
