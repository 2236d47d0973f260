#include "worker/volume_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/status_macros.h"
#include "worker/btrfs_volume.h"
#include "worker/index_update.h"
#include "worker/plan_run.h"
#include "worker/walk_volume.h"

namespace onefold {
namespace {

// A run stops rather than leave less than this for metadata: 5 % of what is not allocated yet, at
// most 1 GiB. A volume that is full, which is when people dedupe, keeps a few MiB: more than one
// batch takes; should it ever be too little, the kernel says so and the run stops as well.
constexpr int64_t kMetadataFloorBytesMin = int64_t{8} << 20;
constexpr int64_t kMetadataFloorBytesMax = int64_t{1} << 30;
// All windows are streamed past the heads when one head in this many is new, or when the volume is
// so small that it costs next to nothing.
constexpr int64_t kNewHeadsShare = 20;
constexpr int64_t kSmallVolumeBytes = int64_t{4} << 30;
// The index forgets deleted extents when they are more than one byte in this many.
constexpr int64_t kStaleShare = 100;
// Files that everything but the executor's destinations may need: RocksDB, gRPC, the terminal.
constexpr int64_t kOtherFiles = 120;
// How often a run looks at what it wrote itself, or put off.
constexpr int kRoundsMax = 4;

// Decides what may be touched; a change of it makes outcomes worth another look.
uint64_t ScopeDigest(const std::vector<ScopeRoot>& roots, const ExcludeList& excludes,
                     const RunOptions& options) {
  std::string text;
  for (const ScopeRoot& root : roots) {
    AppendBig64(text, root.subvolume_id);
    AppendBig64(text, root.inode);
    text += root.path;
    text.push_back('\0');
  }
  for (size_t i = 0; i < excludes.size(); ++i) {
    text += excludes.text(i);
    text.push_back('\0');
  }
  AppendBig64(text, options.min_file_bytes);
  AppendBig64(text, options.max_file_bytes);
  text.push_back(options.skip_readonly_subvolumes ? 1 : 0);
  if (options.relocate) absl::StrAppend(&text, "relocate ", options.relocate_gain_min);
  return ChecksumDigest(text);
}

// Measures one phase; adds to `seconds` when it ends.
class PhaseTimer {
 public:
  PhaseTimer(Clock& clock, double& seconds)
      : clock_(clock), seconds_(seconds), start_(clock.Monotonic()) {}
  ~PhaseTimer() { seconds_ += absl::ToDoubleSeconds(clock_.Monotonic() - start_); }

 private:
  Clock& clock_;
  double& seconds_;
  const absl::Duration start_;
};

class VolumeRunner {
 public:
  VolumeRunner(const VolumeTarget& target, const RunOptions& options, const ExcludeList& excludes,
               Volume& volume, CoordinatorClient& coordinator, Clock& clock, StopSignal& stop,
               Progress& progress, VolumeReport& report)
      : target_(target),
        options_(options),
        excludes_(excludes),
        volume_(volume),
        coordinator_(coordinator),
        clock_(clock),
        stop_(stop),
        progress_(progress),
        report_(report),
        subvolumes_(volume),
        scope_(volume, target.roots, excludes),
        limits_{.min_file_bytes = options.min_file_bytes,
                .max_file_bytes = options.max_file_bytes,
                .skip_readonly_subvolumes = options.skip_readonly_subvolumes},
        index_(volume, coordinator, stop, progress, options.gate),
        requests_before_(progress.dedupe_requests.load()),
        bytes_read_before_(progress.file_bytes_read.load()),
        undecided_before_(progress.plan_bytes_total.load() - progress.plan_bytes_done.load()) {}

  absl::Status Run();

 private:
  // What the coordinator is told of the volume.
  VolumeState StateAt(int64_t generation);
  absl::Status Scan();
  absl::Status Plan(const SpaceInfo& space);
  // One round of planning and executing. `all_windows`: old data is streamed past new heads.
  absl::Status WorkOnce(PlanRun& run, bool all_windows);
  // The changes since the last scan.
  absl::Status ScanAgain();
  // Streams the windows that may hold heads. `dropped`: extents that found an equal one already.
  absl::Status FindInside(int64_t dropped, bool all_windows);
  PlanOptions MakePlanOptions(const SpaceInfo& space);
  // A directory in scope where files can be made.
  std::optional<InodeId> FindScratchDirectory();
  void CountScan();
  // Of a volume that was walked: who else refers to the data is not seen.
  static void LeaveOutWhatIsNotKnown(RunCounters& counters);
  void CountSummary(const PlanSummary& summary, const std::map<std::string, int64_t>& newly_pinned);

  const VolumeTarget& target_;
  const RunOptions& options_;
  const ExcludeList& excludes_;
  Volume& volume_;
  CoordinatorClient& coordinator_;
  Clock& clock_;
  StopSignal& stop_;
  Progress& progress_;
  VolumeReport& report_;
  Subvolumes subvolumes_;
  Scope scope_;
  const FileLimits limits_;
  IndexUpdate index_;
  // Progress counts all volumes of a run.
  const int64_t requests_before_;
  const int64_t bytes_read_before_;
  const int64_t undecided_before_;
  VolumeOrder order_;
};

VolumeState VolumeRunner::StateAt(int64_t generation) {
  return {.uuid = volume_.info().uuid,
          .block_bytes = volume_.info().block_bytes,
          .checksum_kind = volume_.info().checksum_kind,
          .subvolume_set_digest = subvolumes_.SetDigest(),
          .scope_digest = ScopeDigest(target_.roots, excludes_, options_),
          .filesystem_generation = generation};
}

absl::Status VolumeRunner::Run() {
  ASSIGN_OR_RETURN(const int64_t generation, volume_.Generation());
  RETURN_IF_ERROR(subvolumes_.Load());
  VolumeState state = StateAt(generation);
  state.reconsider_all = options_.full;
  state.run_begins = true;
  ASSIGN_OR_RETURN(order_, coordinator_.Sync(state));
  if (!order_.leased) {
    return absl::UnavailableError("another worker works on this filesystem at the moment");
  }
  report_.incremental = order_.scanned_generation > 0;
  const absl::Status scanned = Scan();
  CountScan();
  if (absl::IsCancelled(scanned)) return absl::OkStatus();
  RETURN_IF_ERROR(scanned);
  ASSIGN_OR_RETURN(const SpaceInfo before, volume_.Space());
  RETURN_IF_ERROR(Plan(before));
  ASSIGN_OR_RETURN(const SpaceInfo after, volume_.Space());
  if (!volume_.info().walked) {
    report_.counters.metadata_bytes_grown =
        (after.metadata_used - before.metadata_used) * after.metadata_copies;
  }
  return absl::OkStatus();
}

absl::Status VolumeRunner::Scan() {
  progress_.phase = Progress::Phase::kScanning;
  const PhaseTimer timer(clock_, report_.scan_seconds);
  ASSIGN_OR_RETURN(const int64_t generation, volume_.Commit(), "flushing what is not written yet");
  ASSIGN_OR_RETURN(const SpaceInfo space, volume_.Space());
  progress_.scan_bytes_total += space.data_used;
  RETURN_IF_ERROR(index_.Scan(order_, generation), "scanning");
  const int64_t stale_bytes = index_.totals().extent_bytes - space.data_used;
  if (order_.totals.extent_count > 0 && stale_bytes > space.data_used / kStaleShare) {
    RETURN_IF_ERROR(index_.Sweep(), "sweeping");
  }
  return absl::OkStatus();
}

void VolumeRunner::CountScan() {
  report_.counters.extents_scanned = index_.extents_scanned();
  report_.counters.bytes_scanned = index_.bytes_scanned();
  report_.counters.extents_total = index_.totals().extent_count;
}

void VolumeRunner::LeaveOutWhatIsNotKnown(RunCounters& counters) {
  // Without a request nothing was freed.
  if (*counters.dedupe_requests > 0) counters.bytes_freed = std::nullopt;
  counters.bytes_freeable = std::nullopt;
  counters.bytes_relocatable = std::nullopt;
  counters.metadata_bytes_grown = std::nullopt;
}

absl::Status VolumeRunner::FindInside(int64_t dropped, bool all_windows) {
  const PhaseTimer timer(clock_, report_.scan_seconds);
  const IndexTotals& totals = index_.totals();
  // Nothing new is left to look for: every new extent was a copy, and no older head waits.
  if (!all_windows && report_.incremental && dropped >= index_.extents_scanned() &&
      totals.new_head_count <= index_.extents_scanned()) {
    return absl::OkStatus();
  }
  const bool all = all_windows || totals.new_head_count * kNewHeadsShare > totals.head_count ||
                   (totals.new_head_count > 0 && totals.extent_bytes <= kSmallVolumeBytes);
  if (!all && index_.extents_scanned() == 0) return absl::OkStatus();
  return index_.StreamWindows(all ? 0 : order_.scanned_generation);
}

std::optional<InodeId> VolumeRunner::FindScratchDirectory() {
  if (!options_.relocate) return std::nullopt;
  for (const ScopeRoot& root : target_.roots) {
    const InodeId directory{.subvolume = root.subvolume_id, .inode = root.inode};
    if (options_.dry_run || volume_.NewScratchFile(directory).ok()) return directory;
  }
  return std::nullopt;
}

PlanOptions VolumeRunner::MakePlanOptions(const SpaceInfo& space) {
  PlanOptions plan{.dry_run = options_.dry_run, .example_count = options_.example_count};
  plan.gate = options_.gate;
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  // Settling waits for metadata to be read more than it computes.
  plan.settle_threads = options_.thread_count > 0 ? std::min(options_.thread_count, 16)
                                                  : std::clamp(8 * cores, 8, 16);
  plan.execute_threads =
      options_.thread_count > 0 ? std::min(options_.thread_count, 16) : std::clamp(2 * cores, 4, 8);
  rlimit files = {};
  const int64_t files_max = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY
                                ? static_cast<int64_t>(files.rlim_cur)
                                : 1024;
  plan.destinations_max = static_cast<size_t>(std::clamp<int64_t>(
      (files_max - kOtherFiles) / plan.execute_threads - 1, 1, kDedupeDestinationsMax));
  plan.relocation.gain_min = options_.relocate_gain_min;
  plan.scratch_directory = FindScratchDirectory();
  plan.metadata_floor_bytes =
      std::clamp(space.unallocated / 20, kMetadataFloorBytesMin, kMetadataFloorBytesMax);
  return plan;
}

void VolumeRunner::CountSummary(const PlanSummary& summary,
                                const std::map<std::string, int64_t>& newly_pinned) {
  RunCounters& counters = report_.counters;
  counters.extents_total = summary.extent_count;
  counters.pinned_by = summary.pinned_bytes;
  for (const auto& [holder, bytes] : newly_pinned) counters.pinned_by[holder] += bytes;
  counters.bytes_pinned = 0;
  for (const auto& [holder, bytes] : counters.pinned_by) *counters.bytes_pinned += bytes;
  for (const auto& [state, count] : summary.incomplete_extents) counters.skipped[state] += count;
}

absl::Status VolumeRunner::ScanAgain() {
  ASSIGN_OR_RETURN(const int64_t generation, volume_.Commit());
  ASSIGN_OR_RETURN(order_, coordinator_.Sync(StateAt(generation)));
  return index_.Scan(order_, generation);
}

absl::Status VolumeRunner::WorkOnce(PlanRun& run, bool all_windows) {
  const auto work = [&](PlanKind kind) -> absl::Status {
    progress_.phase = options_.dry_run ? Progress::Phase::kPlanning : Progress::Phase::kDeduping;
    const PhaseTimer timer(clock_,
                           options_.dry_run ? report_.plan_seconds : report_.execute_seconds);
    return run.Work(kind);
  };
  const auto unfinished = [&] { return stop_.requested() || run.ended_early(); };
  absl::Status status = work(PlanKind::kWhole);
  if (status.ok() && options_.match_inside && !unfinished()) {
    progress_.phase = Progress::Phase::kScanning;
    status = FindInside(run.totals().drop_count, all_windows);
    if (status.ok() && !unfinished()) status = work(PlanKind::kInside);
    if (absl::IsCancelled(status)) status = absl::OkStatus();
  }
  if (options_.dry_run) return status;
  // What was moved counts, whatever happened afterwards.
  progress_.phase = Progress::Phase::kSettling;
  const PhaseTimer timer(clock_, report_.execute_seconds);
  status.Update(run.Verify());
  return status;
}

absl::Status VolumeRunner::Plan(const SpaceInfo& space) {
  const PlanRun::Parts parts{.volume = volume_,
                             .coordinator = coordinator_,
                             .scope = scope_,
                             .subvolumes = subvolumes_,
                             .limits = limits_,
                             .excludes = excludes_,
                             .stop = stop_,
                             .progress = progress_,
                             .report = report_};
  PlanRun run(parts, MakePlanOptions(space), space);
  const auto unfinished = [&] { return stop_.requested() || run.ended_early(); };
  absl::Status status = WorkOnce(run, options_.full);
  // What was written anew is new to the index, and may lie elsewhere after all; what was put off
  // because of something else that moved can be decided now.
  PlanTotals before;
  const auto goes_on = [&] {
    const PlanTotals& now = run.totals();
    return !options_.dry_run && status.ok() && !unfinished() &&
           (now.bytes_written > before.bytes_written ||
            (now.retry_count > before.retry_count && now.drop_count > before.drop_count));
  };
  for (int round = 1; round < kRoundsMax && goes_on(); ++round) {
    const bool all_windows = run.totals().bytes_written > before.bytes_written;
    before = run.totals();
    status = ScanAgain();
    if (status.ok()) status = WorkOnce(run, all_windows);
    if (absl::IsCancelled(status)) status = absl::OkStatus();
  }
  if (unfinished()) {
    report_.undecided_bytes =
        std::max<int64_t>(0, progress_.plan_bytes_total.load() - progress_.plan_bytes_done.load());
  }
  RunCounters& counters = report_.counters;
  counters.dedupe_requests = progress_.dedupe_requests.load() - requests_before_;
  counters.file_bytes_read = progress_.file_bytes_read.load() - bytes_read_before_;
  counters.bytes_written = run.totals().bytes_written;
  counters.bytes_shared = run.totals().bytes_shared;
  counters.bytes_freed = run.totals().bytes_freed - run.totals().bytes_written;
  counters.bytes_relocatable = run.totals().bytes_relocatable;
  if (options_.dry_run) {
    counters.bytes_shared = 0;
    counters.bytes_freed = 0;
    counters.bytes_freeable = run.totals().bytes_freeable;
    counters.bytes_shareable = run.totals().bytes_shareable;
  }
  if (volume_.info().walked) LeaveOutWhatIsNotKnown(counters);
  RETURN_IF_ERROR(status);
  const bool ended = !options_.dry_run && !unfinished();
  ASSIGN_OR_RETURN(
      const PlanSummary summary,
      ended ? coordinator_.EndPlan({.inside = options_.match_inside}) : coordinator_.Summarize(),
      "ending the plan");
  CountSummary(summary, run.totals().newly_pinned);
  if (!ended) return absl::OkStatus();
  if (*counters.dedupe_requests == 0) return absl::OkStatus();

  // The run touched leaves itself: with the cursor behind them the next run need not read them
  // again.
  const absl::Status scanned = ScanAgain();
  counters.extents_total = index_.totals().extent_count;
  return absl::IsCancelled(scanned) ? absl::OkStatus() : scanned;
}

// The same for a volume whose trees are closed to us.
absl::Status RunWalked(const VolumeTarget& target, const RunOptions& options,
                       const ExcludeList& excludes, CoordinatorClient& coordinator, Clock& clock,
                       StopSignal& stop, Progress& progress, VolumeReport& report) {
  report.walked = true;
  const WalkOptions walk{
      .directory = options.walk_directory,
      .limits = {.min_file_bytes = options.min_file_bytes,
                 .max_file_bytes = options.max_file_bytes,
                 .skip_readonly_subvolumes = options.skip_readonly_subvolumes},
      // Reading waits for the disk more than it computes.
      .thread_count =
          options.thread_count > 0
              ? std::min(options.thread_count, 16)
              : std::clamp(4 * static_cast<int>(std::thread::hardware_concurrency()), 4, 8)};
  ASSIGN_OR_RETURN(const std::unique_ptr<WalkVolume> volume,
                   OpenWalkVolume(target.uuid, target.roots, walk,
                                  options.dry_run ? Access::kLooking : Access::kChanging));
  progress.phase = Progress::Phase::kScanning;
  const int64_t read_before = progress.file_bytes_read.load();
  {
    const PhaseTimer timer(clock, report.scan_seconds);
    const absl::Status walked =
        volume->Walk(excludes, clock, stop, progress, options.gate,
                     [&](Problem problem) { AddProblem(report, std::move(problem)); });
    report.counters.file_bytes_read = progress.file_bytes_read.load() - read_before;
    if (absl::IsCancelled(walked)) return absl::OkStatus();
    RETURN_IF_ERROR(walked, "walking");
  }
  VolumeTarget numbered = target;
  numbered.roots = volume->Roots();
  RunOptions own = options;
  own.relocate = false;  // nothing is written where it is not known what that frees
  absl::Status status =
      VolumeRunner(numbered, own, excludes, *volume, coordinator, clock, stop, progress, report)
          .Run();
  report.counters.file_bytes_read = progress.file_bytes_read.load() - read_before;
  if (volume->changed_count() > 0) report.counters.skipped["changed"] += volume->changed_count();
  status.Update(volume->Save());
  return status;
}

}  // namespace

absl::Status RunVolume(const VolumeTarget& target, const RunOptions& options,
                       const ExcludeList& excludes, CoordinatorClient& coordinator, Clock& clock,
                       StopSignal& stop, Progress& progress, VolumeReport& report) {
  report.uuid = ToString(target.uuid);
  report.mount = target.mount_path;
  progress.SetVolume(target.mount_path);
  // Until something is done, nothing has been done: these figures are known.
  RunCounters& counters = report.counters;
  for (auto* figure :
       {&counters.extents_scanned, &counters.bytes_scanned, &counters.file_bytes_read,
        &counters.dedupe_requests, &counters.bytes_shared, &counters.bytes_freed,
        &counters.bytes_written, &counters.metadata_bytes_grown}) {
    *figure = 0;
  }
  if (target.walk) {
    return RunWalked(target, options, excludes, coordinator, clock, stop, progress, report);
  }
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Volume> volume,
      OpenBtrfsVolume(target.mount_path, options.dry_run ? Access::kLooking : Access::kChanging));
  if (volume->info().uuid != target.uuid) {
    return absl::FailedPreconditionError(
        absl::StrCat(target.mount_path, " holds another filesystem than a moment ago"));
  }
  return VolumeRunner(target, options, excludes, *volume, coordinator, clock, stop, progress,
                      report)
      .Run();
}

}  // namespace onefold
