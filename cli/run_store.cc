#include "cli/run_store.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

void SetIfKnown(const std::optional<int64_t>& value, const std::function<void(int64_t)>& set) {
  if (value.has_value()) set(*value);
}

}  // namespace

absl::StatusOr<std::optional<DedupeJob>> RunStore::LastJob() {
  ASSIGN_OR_RETURN(const auto stored, Load<storage::v1::StoredRun>(records_, kLastRun));
  if (!stored.has_value()) return std::optional<DedupeJob>();
  DedupeJob job;
  job.paths.assign(stored->paths().begin(), stored->paths().end());
  job.exclude_patterns.assign(stored->exclude_patterns().begin(),
                              stored->exclude_patterns().end());
  job.min_file_bytes = stored->min_file_bytes();
  job.max_file_bytes = stored->max_file_bytes();
  job.skip_readonly_subvolumes = stored->skip_readonly_subvolumes();
  job.match_extents_only = stored->match_extents_only();
  job.thread_count = stored->thread_count();
  job.max_time = absl::Milliseconds(stored->max_time_millis());
  return std::optional<DedupeJob>(std::move(job));
}

absl::Status RunStore::Begin(const std::string& run_id, absl::Time start, bool dry_run,
                             const DedupeJob& job) {
  if (!dry_run) {
    storage::v1::StoredRun stored;
    for (const std::string& path : job.paths) stored.add_paths(path);
    for (const std::string& pattern : job.exclude_patterns) stored.add_exclude_patterns(pattern);
    stored.set_min_file_bytes(job.min_file_bytes);
    stored.set_max_file_bytes(job.max_file_bytes);
    stored.set_skip_readonly_subvolumes(job.skip_readonly_subvolumes);
    stored.set_match_extents_only(job.match_extents_only);
    stored.set_thread_count(job.thread_count);
    stored.set_max_time_millis(absl::ToInt64Milliseconds(job.max_time));
    RETURN_IF_ERROR(records_.Put(kLastRun, stored.SerializeAsString()), "storing the paths");
  }

  ASSIGN_OR_RETURN(const auto known, Load<storage::v1::Lifetime>(records_, kLifetime));
  storage::v1::Lifetime lifetime = known.value_or(storage::v1::Lifetime());
  if (lifetime.run_open()) lifetime.set_incomplete(true);  // the last one was killed
  lifetime.set_run_open(!dry_run);
  run_number_ = lifetime.run_count();
  lifetime.set_run_count(run_number_ + 1);
  RETURN_IF_ERROR(records_.Put(kLifetime, lifetime.SerializeAsString()), "noting the run");

  storage::v1::RunRecord record;
  record.set_run_id(run_id);
  record.set_run_number(run_number_);
  record.set_start_time_unix_millis(absl::ToUnixMillis(start));
  record.set_outcome("running");
  record.set_dry_run(dry_run);
  return records_.Put(RunName(run_number_), record.SerializeAsString());
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
  SetIfKnown(totals.bytes_freed, [&](int64_t bytes) { record.set_freed_bytes(bytes); });
  SetIfKnown(totals.bytes_shared, [&](int64_t bytes) { record.set_shared_bytes(bytes); });
  SetIfKnown(totals.bytes_pinned, [&](int64_t bytes) { record.set_pinned_bytes(bytes); });
  SetIfKnown(totals.bytes_scanned, [&](int64_t bytes) { record.set_scanned_bytes(bytes); });
  record.set_problem_count(ProblemCount(report));
  RETURN_IF_ERROR(records_.Put(RunName(run_number_), record.SerializeAsString()),
                  "noting the run");

  ASSIGN_OR_RETURN(const auto known, Load<storage::v1::Lifetime>(records_, kLifetime));
  storage::v1::Lifetime lifetime = known.value_or(storage::v1::Lifetime());
  if (!report.dry_run) {
    // Volumes whose figures are known count even where the total is not.
    for (const VolumeReport& volume : report.volumes) {
      const std::optional<int64_t>& freed = volume.counters.bytes_freed;
      lifetime.set_freed_bytes(lifetime.freed_bytes() + freed.value_or(0));
      if (!freed.has_value()) lifetime.set_incomplete(true);
    }
    lifetime.set_run_open(false);
    RETURN_IF_ERROR(records_.Put(kLifetime, lifetime.SerializeAsString()), "noting the run");
  }
  return LifetimeFreed{lifetime.freed_bytes(), lifetime.incomplete()};
}

}  // namespace onefold
