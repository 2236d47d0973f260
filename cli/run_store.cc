#include "cli/run_store.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "onefold/storage/v1/run.pb.h"

namespace onefold {
namespace {

constexpr char kLastRun[] = "last_run";
constexpr char kLifetime[] = "lifetime";

std::string RunName(int64_t run_number) {
  return absl::StrFormat("run/%03d", run_number % kRunsKeptMax);
}

// nullopt if there is no such record.
template <typename Message>
absl::StatusOr<std::optional<Message>> Load(RecordStore& records, const char* name) {
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, records.Get(name));
  if (!bytes.has_value()) return std::optional<Message>();
  Message message;
  if (!message.ParseFromString(*bytes)) {
    return absl::DataLossError(absl::StrCat("the record '", name, "' cannot be understood"));
  }
  return std::optional<Message>(std::move(message));
}

// A damaged record is no reason to do nothing: what it held is counted as unknown.
absl::StatusOr<storage::v1::Lifetime> LoadLifetime(RecordStore& records) {
  auto lifetime = Load<storage::v1::Lifetime>(records, kLifetime);
  if (absl::IsDataLoss(lifetime.status())) {
    storage::v1::Lifetime unknown;
    unknown.set_incomplete(true);
    return unknown;
  }
  RETURN_IF_ERROR(lifetime.status());
  return lifetime->value_or(storage::v1::Lifetime());
}

// Of its text form.
std::string UuidBytes(const std::string& uuid) {
  return absl::HexStringToBytes(absl::StrReplaceAll(uuid, {{"-", ""}}));
}

void NoteVolume(const VolumeReport& report, storage::v1::RunVolume& volume) {
  const RunCounters& counters = report.counters;
  volume.set_volume_uuid(UuidBytes(report.uuid));
  volume.set_mount_path(report.mount);
  if (counters.extents_total) volume.set_extents_total(*counters.extents_total);
  if (counters.extents_scanned) volume.set_extents_scanned(*counters.extents_scanned);
  if (counters.bytes_scanned) volume.set_scanned_bytes(*counters.bytes_scanned);
  if (counters.bytes_freed) volume.set_freed_bytes(*counters.bytes_freed);
  if (counters.bytes_shared) volume.set_shared_bytes(*counters.bytes_shared);
  if (counters.bytes_written) volume.set_written_bytes(*counters.bytes_written);
  if (counters.bytes_pinned) volume.set_pinned_bytes(*counters.bytes_pinned);
  volume.mutable_pinned_by()->insert(counters.pinned_by.begin(), counters.pinned_by.end());
  if (counters.bytes_freeable) volume.set_freeable_bytes(*counters.bytes_freeable);
  volume.set_problem_count(report.problems_total);
}

}  // namespace

absl::StatusOr<std::optional<DedupeJob>> RunStore::LastJob() {
  ASSIGN_OR_RETURN(const auto stored, Load<storage::v1::StoredRun>(records_, kLastRun));
  if (!stored.has_value()) return std::optional<DedupeJob>();
  DedupeJob job;
  job.paths.assign(stored->paths().begin(), stored->paths().end());
  job.exclude_patterns.assign(stored->exclude_patterns().begin(), stored->exclude_patterns().end());
  job.min_file_bytes = stored->min_file_bytes();
  job.max_file_bytes = stored->max_file_bytes();
  job.skip_readonly_subvolumes = stored->skip_readonly_subvolumes();
  job.match_extents_only = stored->match_extents_only();
  if (stored->relocate() >= 0 && stored->relocate() <= static_cast<int>(Relocate::kNever)) {
    job.relocate = static_cast<Relocate>(stored->relocate());
  }
  job.relocate_gain_min = stored->relocate_gain_min();
  job.thread_count = stored->thread_count();
  job.max_time = absl::Milliseconds(stored->max_time_millis());
  return std::optional<DedupeJob>(std::move(job));
}

absl::Status RunStore::Begin(const std::string& run_id, absl::Time start, bool dry_run,
                             const DedupeJob& job, const std::vector<std::string>& uuids) {
  if (!dry_run) RETURN_IF_ERROR(StoreJob(job), "storing the paths");

  ASSIGN_OR_RETURN(storage::v1::Lifetime lifetime, LoadLifetime(records_));
  if (lifetime.has_open_run()) {
    storage::v1::RunRecord& killed = *lifetime.mutable_open_run();
    if (!killed.dry_run()) lifetime.set_incomplete(true);
    killed.set_outcome("killed");
    RETURN_IF_ERROR(records_.Put(RunName(killed.run_number()), killed.SerializeAsString()),
                    "noting the last run");
  }
  run_number_ = lifetime.run_count();
  lifetime.set_run_count(run_number_ + 1);
  storage::v1::RunRecord& run = *lifetime.mutable_open_run();
  run.Clear();
  run.set_run_id(run_id);
  run.set_run_number(run_number_);
  run.set_start_time_unix_millis(absl::ToUnixMillis(start));
  run.set_dry_run(dry_run);
  for (const std::string& uuid : uuids) run.add_volumes()->set_volume_uuid(UuidBytes(uuid));
  return Annotate(records_.Put(kLifetime, lifetime.SerializeAsString()), "noting the run");
}

absl::Status RunStore::StoreJob(const DedupeJob& job) {
  storage::v1::StoredRun stored;
  for (const std::string& path : job.paths) stored.add_paths(path);
  for (const std::string& pattern : job.exclude_patterns) stored.add_exclude_patterns(pattern);
  stored.set_min_file_bytes(job.min_file_bytes);
  stored.set_max_file_bytes(job.max_file_bytes);
  stored.set_skip_readonly_subvolumes(job.skip_readonly_subvolumes);
  stored.set_match_extents_only(job.match_extents_only);
  stored.set_relocate(static_cast<int>(job.relocate));
  stored.set_relocate_gain_min(job.relocate_gain_min);
  stored.set_thread_count(job.thread_count);
  stored.set_max_time_millis(absl::ToInt64Milliseconds(job.max_time));
  const std::string bytes = stored.SerializeAsString();
  // Most runs repeat the last one: nothing to make durable.
  ASSIGN_OR_RETURN(const std::optional<std::string> known, records_.Get(kLastRun));
  return known == bytes ? absl::OkStatus() : records_.Put(kLastRun, bytes);
}

absl::StatusOr<LifetimeFreed> RunStore::End(const RunReport& report) {
  const RunCounters totals = Totals(report);
  storage::v1::RunRecord record;
  record.set_run_id(report.run_id);
  record.set_run_number(run_number_);
  record.set_start_time_unix_millis(absl::ToUnixMillis(report.started_at));
  record.set_elapsed_millis(absl::ToInt64Milliseconds(report.elapsed));
  record.set_outcome(OutcomeName(report.outcome));
  record.set_dry_run(report.dry_run);
  if (totals.bytes_freed) record.set_freed_bytes(*totals.bytes_freed);
  if (totals.bytes_shared) record.set_shared_bytes(*totals.bytes_shared);
  if (totals.bytes_pinned) record.set_pinned_bytes(*totals.bytes_pinned);
  if (totals.bytes_scanned) record.set_scanned_bytes(*totals.bytes_scanned);
  record.set_problem_count(ProblemCount(report));
  for (const VolumeReport& volume : report.volumes) NoteVolume(volume, *record.add_volumes());
  RETURN_IF_ERROR(records_.Put(RunName(run_number_), record.SerializeAsString()), "noting the run");

  ASSIGN_OR_RETURN(storage::v1::Lifetime lifetime, LoadLifetime(records_));
  lifetime.clear_open_run();
  if (!report.dry_run) {
    // Volumes whose figures are known count even where the total is not.
    for (const VolumeReport& volume : report.volumes) {
      const std::optional<int64_t>& freed = volume.counters.bytes_freed;
      lifetime.set_freed_bytes(lifetime.freed_bytes() + freed.value_or(0));
      if (!freed.has_value()) lifetime.set_incomplete(true);
    }
  }
  RETURN_IF_ERROR(records_.Put(kLifetime, lifetime.SerializeAsString()), "noting the run");
  return LifetimeFreed{lifetime.freed_bytes(), lifetime.incomplete()};
}

}  // namespace onefold
