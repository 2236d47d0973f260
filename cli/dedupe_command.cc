#include "cli/dedupe_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_line.h"
#include "cli/dedupe_arguments.h"
#include "cli/json_output.h"
#include "cli/local_coordinator.h"
#include "cli/open_files.h"
#include "cli/privileges.h"
#include "cli/progress_printer.h"
#include "cli/report_text.h"
#include "cli/run_store.h"
#include "cli/run_summary.h"
#include "cli/stopping.h"
#include "common/escape.h"
#include "common/status_macros.h"
#include "worker/btrfs_errno.h"
#include "worker/exclude.h"
#include "worker/kernel_check.h"
#include "worker/mounts.h"
#include "worker/resolve_targets.h"
#include "worker/volume_run.h"

namespace onefold {
namespace {

constexpr int kExamplesMax = 10;
constexpr std::chrono::milliseconds kSignalPoll(50);

bool WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string NewRunId(absl::Time now) {
  std::random_device device;
  return absl::StrCat(absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone()), "-",
                      absl::StrFormat("%08x", device()));
}

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string WorkingDirectory() {
  const std::unique_ptr<char, decltype(&std::free)> path(::getcwd(nullptr, 0), &std::free);
  return path == nullptr ? "/" : path.get();
}

ProgressStyle StyleFor(const DedupeArguments& arguments) {
  switch (arguments.progress) {
    case ProgressMode::kPlain: return ProgressStyle::kPlain;
    case ProgressMode::kJson: return ProgressStyle::kJson;
    case ProgressMode::kNone: return ProgressStyle::kNone;
    case ProgressMode::kAuto: break;
  }
  if (arguments.verbosity == Verbosity::kQuiet) return ProgressStyle::kNone;
  const bool can_rewrite = ::isatty(STDERR_FILENO) == 1 && EnvironmentValue("TERM") != "dumb";
  return can_rewrite ? ProgressStyle::kLine : ProgressStyle::kPlain;
}

// The word for a volume that could not be worked on.
const char* ReasonFor(const absl::Status& status) {
  if (IsTooManyOpenFiles(status)) return "too many open files";
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented: return "unsupported filesystem";
    case absl::StatusCode::kPermissionDenied: return "permission";
    case absl::StatusCode::kResourceExhausted: return "no space";
    case absl::StatusCode::kDataLoss: return "read error";
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted: return "busy";
    default: return "failed";
  }
}

double RelocateGain(const DedupeJob& job) {
  if (job.relocate_gain_min > 0) return job.relocate_gain_min;
  return job.relocate == Relocate::kAll ? kRelocateAllGainMin : kRelocateGainMin;
}

// One run, from arguments to exit code. Used once.
class DedupeCommand {
 public:
  DedupeCommand(const DedupeArguments& arguments, Clock& clock, StopSignal& stop)
      : arguments_(arguments),
        clock_(clock),
        stop_(stop),
        start_(clock.Monotonic()),
        printer_({.style = StyleFor(arguments), .dry_run = arguments.dry_run}, progress_, clock) {
    summary_.report.run_id = NewRunId(clock.Now());
    summary_.report.started_at = clock.Now();
    summary_.report.dry_run = arguments.dry_run;
  }

  int Run() {
    const absl::Status status = Prepare();
    if (!status.ok()) return Refuse(status);
    if (targets_.empty() && ProblemCount(summary_.report) > 0) {
      return Refuse(absl::FailedPreconditionError("none of the given paths can be worked on"));
    }
    const TimeLimit limit(job_.max_time - (clock_.Monotonic() - start_), clock_, stop_);
    if (!targets_.empty()) {
      const absl::Status begun = store_->Begin(summary_.report.run_id, summary_.report.started_at,
                                               arguments_.dry_run, job_);
      if (!begun.ok()) return Refuse(begun);
      RunVolumes();
      stopped_ = Stopped();  // a time limit that ends while we tidy up has ended no work
      GiveBackSpace();
    }
    return Finish();
  }

 private:
  // Everything that can refuse the run, in the order in which a person can do something about it.
  absl::Status Prepare() {
    RETURN_IF_ERROR(CheckSystem());
    RETURN_IF_ERROR(ChooseStateDirectory());
    ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
    if (arguments_.paths.empty()) {
      RETURN_IF_ERROR(RepeatLastJob());
    } else {
      job_ = MakeJob(arguments_, nullptr, WorkingDirectory());
    }
    if (job_.max_file_bytes > 0 && job_.min_file_bytes > job_.max_file_bytes) {
      return absl::InvalidArgumentError("--min-size is more than --max-size: no file is both");
    }
    ASSIGN_OR_RETURN(excludes_, ExcludeList::Parse(job_.exclude_patterns));
    SystemPathSource source(/*with_xfs=*/true);
    TakeTargets(ResolveTargets(job_.paths, mounts, source, excludes_));
    if (targets_.empty()) return absl::OkStatus();
    SayWhatIsWalked();
    if (arguments_.exclude_patterns) WarnOfMisplacedExcludes(source);

    RETURN_IF_ERROR(OpenCoordinator());
    const absl::StatusOr<std::string> state = source.RealPath(state_directory_);
    ExcludeStateDirectory(state.value_or(state_directory_), targets_, mounts, excludes_);
    return absl::OkStatus();
  }

  absl::Status CheckSystem() {
    Privileges privileges;
    RETURN_IF_ERROR(ReadPrivileges(privileges));
    locked_out_ = CheckPrivileges(privileges);
    RETURN_IF_ERROR(CheckOpenFiles());
    if (locked_out_.ok()) Warn(PrivilegeWarning(privileges));
    Warn(KernelWarning(RunningKernel()));
    return absl::OkStatus();
  }

  // Which targets are walked, and what is lost by that.
  void SayWhatIsWalked() {
    for (VolumeTarget& target : targets_) {
      const std::string why = !locked_out_.ok()
                                  ? std::string(locked_out_.message())
                                  : absl::StrCat(Escape(target.mount_path), " is XFS");
      target.walk |= !locked_out_.ok();
      if (!target.walk) continue;
      Note(absl::StrCat(
          why,
          ". So directories are walked, and data is read once to find what is equal. What is "
          "freed is not known then, nor what snapshots and files elsewhere hold"));
      if (!locked_out_.ok()) return;  // the same for all
    }
  }

  absl::Status ChooseStateDirectory() {
    state_directory_ =
        arguments_.state_directory.empty()
            ? DefaultStateDirectory(::geteuid() == 0, EnvironmentValue("XDG_STATE_HOME"),
                                    EnvironmentValue("HOME"))
            : AbsolutePath(arguments_.state_directory, WorkingDirectory());
    if (!state_directory_.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "there is no place for the state: neither XDG_STATE_HOME nor HOME is set; name one with "
        "--state DIR");
  }

  absl::Status RepeatLastJob() {
    const auto nothing = [&] {
      return absl::FailedPreconditionError(
          absl::StrCat("there is no run to repeat in ", Escape(state_directory_),
                       ": give a PATH, for example: onefold dedupe /srv/data"));
    };
    // A state directory is not made only to find that it is empty.
    struct stat status;
    if (::stat(state_directory_.c_str(), &status) != 0 && errno == ENOENT) return nothing();
    RETURN_IF_ERROR(OpenCoordinator());
    ASSIGN_OR_RETURN(const std::optional<DedupeJob> last, store_->LastJob());
    if (!last.has_value() || last->paths.empty()) return nothing();
    job_ = MakeJob(arguments_, &*last, "/");
    if (arguments_.verbosity != Verbosity::kQuiet) {
      printer_.Say(absl::StrCat(JobIsAltered()
                                    ? "onefold: the paths of last time, with other options: "
                                    : "onefold: as last time: ",
                                JobText(job_), "\n"));
    }
    return absl::OkStatus();
  }

  // A pattern with a slash counts from the given paths, not from where it was typed; the shell's
  // completion makes people type the latter.
  void WarnOfMisplacedExcludes(PathSource& source) {
    for (const std::string& pattern : *arguments_.exclude_patterns) {
      if (pattern.empty() || pattern.front() == '/' || pattern.find('/') >= pattern.size() - 1 ||
          pattern.find_first_of("*?[\\") != std::string::npos) {
        continue;
      }
      const std::string here = AbsolutePath(pattern, WorkingDirectory());
      if (!source.RealPath(here).ok()) continue;
      bool is_there = false;
      for (const std::string& path : job_.paths) {
        is_there |= source.RealPath(AbsolutePath(pattern, path)).ok();
      }
      if (!is_there) {
        Warn(
            absl::StrCat("--exclude ", Escape(pattern),
                         " counts from the given paths and names nothing there; for what lies here "
                         "write --exclude ",
                         Escape(here)));
      }
    }
  }

  // Whether an option of the remembered job was given anew.
  bool JobIsAltered() const {
    return arguments_.exclude_patterns || arguments_.min_file_bytes || arguments_.max_file_bytes ||
           arguments_.skip_readonly_subvolumes || arguments_.match_extents_only ||
           arguments_.relocate || arguments_.relocate_gain_min || arguments_.thread_count ||
           arguments_.max_time;
  }

  absl::Status OpenCoordinator() {
    if (coordinator_ != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(coordinator_, LocalCoordinator::Open(state_directory_, clock_));
    store_.emplace(coordinator_->records());
    for (const std::string& warning : coordinator_->warnings()) Warn(warning);
    return absl::OkStatus();
  }

  void TakeTargets(ResolvedTargets resolved) {
    targets_ = std::move(resolved.targets);
    for (const VolumeTarget& target : targets_) {
      VolumeReport& report = summary_.report.volumes.emplace_back();
      report.uuid = ToString(target.uuid);
      report.mount = target.mount_path;
    }
    for (TargetProblem& problem : resolved.problems) AddTargetProblem(std::move(problem));
    for (const std::string& warning : resolved.warnings) Warn(warning);
    summary_.excluded_paths = std::move(resolved.excluded_paths);
    summary_.report.foreign_mounts = resolved.foreign_mounts;
    summary_.report.foreign_btrfs = std::move(resolved.foreign_btrfs);
  }

  // A filesystem all of whose paths have problems gets a report that says so.
  void AddTargetProblem(TargetProblem problem) {
    if (!problem.uuid.has_value()) {
      summary_.report.problems.push_back(std::move(problem.problem));
      return;
    }
    const std::string uuid = ToString(*problem.uuid);
    for (VolumeReport& volume : summary_.report.volumes) {
      if (volume.uuid == uuid) return AddProblem(volume, std::move(problem.problem));
    }
    VolumeReport volume;
    volume.uuid = uuid;
    volume.mount = problem.problem.path;
    SetUntouched(volume.counters);
    AddProblem(volume, std::move(problem.problem));
    summary_.report.volumes.push_back(std::move(volume));
  }

  void RunVolumes() {
    const RunOptions options{
        .dry_run = arguments_.dry_run,
        .full = arguments_.full,
        .match_inside = !job_.match_extents_only,
        .skip_readonly_subvolumes = job_.skip_readonly_subvolumes,
        .relocate = job_.relocate != Relocate::kNever,
        .relocate_gain_min = RelocateGain(job_),
        .min_file_bytes = job_.min_file_bytes,
        .max_file_bytes = job_.max_file_bytes,
        .thread_count = job_.thread_count,
        .example_count =
            arguments_.dry_run || arguments_.verbosity == Verbosity::kVerbose ? kExamplesMax : 0,
        .walk_directory = absl::StrCat(state_directory_, "/walk"),
    };
    progress_.volume_count = static_cast<int>(targets_.size());
    for (size_t i = 0; i < targets_.size() && !stop_.requested(); ++i) {
      progress_.volume_index = static_cast<int>(i) + 1;
      VolumeReport& report = summary_.report.volumes[i];
      const std::unique_ptr<CoordinatorClient> client = coordinator_->NewClient();
      const absl::Status status =
          RunVolume(targets_[i], options, excludes_, *client, clock_, stop_, progress_, report);
      // Our own state directory is nobody's pattern.
      for (const std::string& own : OwnExcludes()) report.excluded_bytes.erase(own);
      // A run that looked at everything knows of a pattern that it held nothing back.
      if (!report.incremental && !report.walked && status.ok()) {
        for (size_t k = 0; k < job_.exclude_patterns.size(); ++k) {
          report.excluded_bytes.try_emplace(excludes_.text(k), 0);
        }
      }
      if (!status.ok()) {
        ++failed_count_;
        AddProblem(report, {.reason = ReasonFor(status),
                            .path = targets_[i].mount_path,
                            .detail = std::string(status.message())});
      }
    }
  }

  // What was excluded beside the patterns that were typed.
  std::vector<std::string> OwnExcludes() const {
    std::vector<std::string> own;
    for (size_t i = job_.exclude_patterns.size(); i < excludes_.size(); ++i) {
      own.push_back(excludes_.text(i));
    }
    return own;
  }

  // Compacts the index if it changed; the store decides whether that is worth the time. Everything
  // is recorded by then, so a signal need not wait for it.
  void GiveBackSpace() {
    if (stop_.requested()) return;
    bool changed = false;
    for (size_t i = 0; i < targets_.size(); ++i) {
      const VolumeReport& volume = summary_.report.volumes[i];
      changed |= !volume.incremental || volume.counters.extents_scanned.value_or(0) > 0 ||
                 volume.counters.dedupe_requests.value_or(0) > 0;
    }
    if (!changed) return;
    std::promise<absl::Status> promise;
    std::future<absl::Status> compacted = promise.get_future();
    compactor_ = std::thread([this, promise = std::move(promise)]() mutable {
      promise.set_value(coordinator_->Compact());
    });
    while (compacted.wait_for(kSignalPoll) != std::future_status::ready) {
      if (ReceivedSignal() == 0) continue;
      abandoned_ = true;
      compactor_.detach();
      return;
    }
    compactor_.join();
    const absl::Status status = compacted.get();
    if (!status.ok()) Warn(absl::StrCat("the index could not be compacted: ", status.message()));
  }

  bool NothingCouldBeDone() const {
    if (targets_.empty() || failed_count_ < targets_.size()) return false;
    for (const VolumeReport& volume : summary_.report.volumes) {
      if (volume.counters.dedupe_requests.value_or(0) > 0) return false;
    }
    return true;
  }

  int Finish() {
    RunReport& report = summary_.report;
    if (ReceivedSignal() != 0) stopped_ = RunOutcome::kInterrupted;
    report.outcome = FinalOutcome(stopped_, report);
    if (report.outcome == RunOutcome::kIncomplete && NothingCouldBeDone()) {
      report.outcome = RunOutcome::kRefused;
      summary_.message = "nothing could be done";
    }
    report.elapsed = clock_.Monotonic() - start_;
    if (store_.has_value() && !targets_.empty()) {
      const absl::StatusOr<LifetimeFreed> lifetime = store_->End(report);
      if (lifetime.ok()) {
        summary_.lifetime = *lifetime;
      } else {
        Warn(absl::StrCat("the run could not be noted: ", lifetime.status().message()));
      }
    }
    report.elapsed = clock_.Monotonic() - start_;
    progress_.phase = Progress::Phase::kDone;
    return Print();
  }

  int Refuse(const absl::Status& status) {
    summary_.report.outcome = RunOutcome::kRefused;
    summary_.message = std::string(status.message());
    summary_.report.elapsed = clock_.Monotonic() - start_;
    for (VolumeReport& volume : summary_.report.volumes) SetUntouched(volume.counters);
    return Print();
  }

  // Nothing was done: these figures are known.
  static void SetUntouched(RunCounters& counters) {
    for (auto* figure :
         {&counters.extents_scanned, &counters.bytes_scanned, &counters.file_bytes_read,
          &counters.dedupe_requests, &counters.bytes_shared, &counters.bytes_freed,
          &counters.bytes_written, &counters.metadata_bytes_grown}) {
      *figure = 0;
    }
  }

  RunOutcome Stopped() const {
    if (ReceivedSignal() != 0 || stop_.reason() == StopSignal::Reason::kInterrupted) {
      return RunOutcome::kInterrupted;
    }
    return stop_.reason() == StopSignal::Reason::kTimeLimit ? RunOutcome::kTimeLimit
                                                            : RunOutcome::kCompleted;
  }

  int Print() {
    printer_.Stop();
    const RunOutcome outcome = summary_.report.outcome;
    int exit_code = ExitCode(outcome, ReceivedSignal());
    bool printed = true;
    if (arguments_.json) {
      printed = WriteAll(STDOUT_FILENO, RunJson(summary_) + "\n");
    } else if (outcome != RunOutcome::kRefused) {
      printed = WriteAll(STDOUT_FILENO, SummaryText(summary_, arguments_.verbosity));
    }
    printer_.Say(ProblemText(summary_, arguments_.verbosity));
    if (outcome == RunOutcome::kRefused) {
      printer_.Say(absl::StrCat("onefold: ", EscapeText(summary_.message), "\n"));
    }
    if (!printed && exit_code == kExitDone) {
      printer_.Say(
          "onefold: the run is done, but its report could not be written to standard output\n");
      exit_code = kExitIncomplete;
    }
    // The index survives being left in the middle of a compaction; waiting for it might take
    // minutes.
    if (abandoned_) ::_exit(exit_code);
    return exit_code;
  }

  // Like a warning, but nothing is wrong.
  void Note(const std::string& note) {
    summary_.warnings.push_back(note);
    if (arguments_.verbosity == Verbosity::kQuiet) return;
    printer_.Say(absl::StrCat("onefold: ", EscapeText(note), "\n"));
  }

  void Warn(const std::string& warning) {
    if (warning.empty()) return;
    summary_.warnings.push_back(warning);
    printer_.Say(absl::StrCat("onefold: warning: ", EscapeText(warning), "\n"));
  }

  const DedupeArguments& arguments_;
  Clock& clock_;
  StopSignal& stop_;
  const absl::Duration start_;
  Progress progress_;
  ProgressPrinter printer_;
  RunSummary summary_;
  std::string state_directory_;
  absl::Status locked_out_;  // what keeps us from the filesystem's trees
  DedupeJob job_;
  ExcludeList excludes_;
  std::unique_ptr<LocalCoordinator> coordinator_;
  std::optional<RunStore> store_;
  // The reports of these volumes are the first ones in summary_, in the same order.
  std::vector<VolumeTarget> targets_;
  size_t failed_count_ = 0;
  RunOutcome stopped_ = RunOutcome::kCompleted;
  std::thread compactor_;
  bool abandoned_ = false;  // the compactor is still at work
};

// Prints why a run is not even begun.
int RefuseArguments(const std::string& message, bool json, Clock& clock) {
  RunSummary summary;
  summary.report.run_id = NewRunId(clock.Now());
  summary.report.started_at = clock.Now();
  summary.report.outcome = RunOutcome::kRefused;
  summary.message = message;
  if (json) WriteAll(STDOUT_FILENO, RunJson(summary) + "\n");
  WriteAll(STDERR_FILENO,
           absl::StrCat("onefold: ", EscapeText(message), "\nTry: onefold dedupe --help\n"));
  return kExitRefused;
}

int RunDedupe(const Arguments& arguments) {
  if (arguments == Arguments{"--version"}) return PrintText(ProgramVersion());
  const absl::StatusOr<DedupeArguments> parsed = ParseDedupe(arguments);
  if (!parsed.ok()) {
    const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    return RefuseArguments(std::string(parsed.status().message()), json, SystemClock());
  }
  // Outlives everything: a signal may come at any time.
  static StopSignal* const stop = new StopSignal;
  InstallSignalHandlers(*stop);
  return DedupeCommand(*parsed, SystemClock(), *stop).Run();
}

}  // namespace

const Command kDedupeCommand = {.name = "dedupe",
                                .parameters = "PATH…",
                                .summary = "find and fold what is below the paths",
                                .help = DedupeHelp,
                                .run = RunDedupe};

}  // namespace onefold
