#include "bench/fleet_load/fleet_load.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "bench/fleet_load/child_process.h"
#include "bench/fleet_load/fleet_connection.h"
#include "bench/fleet_load/load_phases.h"
#include "bench/fleet_load/sync_load.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace onefold::bench {
namespace {

constexpr double kMiB = 1024.0 * 1024;
// Between calls of a worker that has nothing to do, as the coordinator asks for.
constexpr absl::Duration kIdleSyncInterval = absl::Seconds(60);
// The index has settled when the threads that merge tables have used no processor time for so long.
constexpr char kMergeThreads[] = "rocksdb:";
constexpr absl::Duration kSettled = absl::Seconds(8);
constexpr absl::Duration kSettlePatience = absl::Minutes(10);
// Which volume is looked up; no worker reports it.
constexpr int64_t kLookUpVolume = 1'000'000;

absl::Duration Now() { return SystemClock().Monotonic(); }

void Say(absl::string_view what) {
  std::fprintf(stderr, "== %.*s\n", static_cast<int>(what.size()), what.data());
}

std::vector<std::string> CommandOf(const Options& options, const std::string& self, int port) {
  if (options.coordinator.empty()) {
    return {self, "--serve", options.state, "--port", absl::StrCat(port)};
  }
  return absl::StrSplit(absl::StrReplaceAll(options.coordinator, {{"{state}", options.state},
                                                                  {"{port}", absl::StrCat(port)}}),
                        ' ', absl::SkipEmpty());
}

class Measurement {
 public:
  Measurement(const Options& options, std::string self, std::string address,
              std::unique_ptr<ChildProcess> coordinator)
      : options_(options),
        self_(std::move(self)),
        address_(std::move(address)),
        coordinator_(std::move(coordinator)),
        index_(options.state + "/index") {}

  absl::Status Run() {
    Say(absl::StrCat("connecting ", options_.worker_count, " workers"));
    syncs_ = StartSyncLoad(address_, options_.worker_count, absl::Seconds(options_.sync_seconds));
    syncs_->SetChanges(options_.change_percent);
    if (options_.extent_count > 0) {
      RETURN_IF_ERROR(Work());
    } else {
      Idle("calling often");
    }
    if (options_.idle_seconds > 0) {
      Say("watching the idle fleet");
      syncs_->SetInterval(kIdleSyncInterval);
      syncs_->SetChanges(0);
      absl::SleepFor(absl::Seconds(1));
      syncs_->Take();
      Idle("idle");
    }
    syncs_.reset();
    return coordinator_->Stop();
  }

  const std::vector<Figure>& figures() const { return figures_; }

 private:
  void Add(Figure figure) { figures_.push_back(std::move(figure)); }

  void AddCalls(const std::string& when) {
    Latencies syncs = syncs_->Take();
    Add({absl::StrCat("sync p50 while ", when), absl::ToDoubleMilliseconds(syncs.Percentile(50)),
         "ms"});
    Add({.name = absl::StrCat("sync p99 while ", when),
         .value = absl::ToDoubleMilliseconds(syncs.Percentile(99)),
         .unit = "ms",
         .at_most = 100});
    Add({absl::StrCat("sync calls while ", when), static_cast<double>(syncs.taken.size()), ""});
    Latencies plans;
    if (look_ups_) AddLookUps(when, plans = look_ups_->Take());
    Add({.name = absl::StrCat("failed calls while ", when),
         .value = static_cast<double>(syncs.failure_count + plans.failure_count),
         .unit = "",
         .at_most = 0});
  }

  void AddLookUps(const std::string& when, Latencies plans) {
    for (const int percent : {50, 99}) {
      Add({absl::StrCat("look-up p", percent, " while ", when),
           absl::ToDoubleMilliseconds(plans.Percentile(percent)), "ms"});
    }
  }

  void AddPeak(const std::string& when) {
    Add({.name = absl::StrCat("peak RSS while ", when),
         .value = static_cast<double>(coordinator_->peak_rss_bytes()) / kMiB,
         .unit = "MiB",
         .at_most = 512});
    coordinator_->ForgetPeak();
  }

  std::vector<std::string> UploadCommand() const {
    return {self_,
            "--upload-to",
            address_,
            "--extents",
            absl::StrCat(options_.extent_count),
            "--volumes",
            absl::StrCat(options_.volume_count),
            "--streams",
            absl::StrCat(options_.stream_count),
            "--seed",
            absl::StrCat(options_.seed),
            "--duplicates",
            absl::StrCat(options_.duplicate_percent)};
  }

  absl::Status Upload() {
    Say(absl::StrCat("uploading ", options_.extent_count, " extents of ", options_.volume_count,
                     " volumes"));
    syncs_->Take();
    look_ups_->Take();
    coordinator_->ForgetPeak();
    const absl::Duration begun = Now();
    const absl::Duration cpu_before = coordinator_->cpu();
    // In a process of its own: the threads of a thousand streams would stand between the answers to
    // Sync and the thread that takes their time.
    ASSIGN_OR_RETURN(const auto uploader, ChildProcess::Start(UploadCommand()));
    RETURN_IF_ERROR(uploader->Wait(), "uploading");
    const absl::Duration taken = Now() - begun;
    const auto extents = static_cast<double>(options_.extent_count);
    Add({"extents", extents, ""});
    Add({"upload", absl::ToDoubleSeconds(taken), "s"});
    Add({.name = "durable extents",
         .value = extents / absl::ToDoubleSeconds(taken),
         .unit = "/s",
         .at_least = 100'000});
    Add({"coordinator CPU per extent",
         absl::ToDoubleMicroseconds(coordinator_->cpu() - cpu_before) / extents, "us"});
    Add({"index before compaction", static_cast<double>(BytesBelow(index_)) / extents,
         "bytes/extent"});
    AddCalls("uploading");
    AddPeak("uploading");
    uploaded_ = {.begun = begun, .ended = Now(), .cpu = cpu_before, .count = extents};
    return absl::OkStatus();
  }

  absl::Status Work() {
    look_ups_.emplace(address_, kLookUpVolume, static_cast<uint64_t>(options_.seed));
    absl::SleepFor(absl::Seconds(2));
    RETURN_IF_ERROR(Upload());
    RETURN_IF_ERROR(Settle());
    look_ups_.reset();
    return options_.plan ? Plan() : absl::OkStatus();
  }

  absl::Status Settle() {
    Say("waiting for compaction");
    absl::Duration changed = Now();
    absl::Duration merging = coordinator_->cpu_of_threads(kMergeThreads);
    while (Now() - changed < kSettled) {
      if (Now() - uploaded_.ended > kSettlePatience) {
        return absl::DeadlineExceededError("compaction does not end");
      }
      absl::SleepFor(absl::Milliseconds(500));
      const absl::Duration now = coordinator_->cpu_of_threads(kMergeThreads);
      if (std::exchange(merging, now) != now) changed = Now();
    }
    Add({.name = "settled after the upload",
         .value = absl::ToDoubleSeconds(changed - uploaded_.ended),
         .unit = "s",
         .at_most = 180});
    Add({"extents, settled", uploaded_.count / absl::ToDoubleSeconds(changed - uploaded_.begun),
         "/s"});
    Add({"coordinator CPU per extent, settled",
         absl::ToDoubleMicroseconds(coordinator_->cpu() - uploaded_.cpu) / uploaded_.count, "us"});
    Add({.name = "index after compaction",
         .value = static_cast<double>(BytesBelow(index_)) / uploaded_.count,
         .unit = "bytes/extent",
         .at_most = 80});
    AddCalls("settling");
    AddPeak("settling");
    return absl::OkStatus();
  }

  absl::Status Plan() {
    Say("fetching a plan");
    const absl::Duration cpu_before = coordinator_->cpu();
    ASSIGN_OR_RETURN(const PlanFigures plan, FetchWholePlan(address_, 0));
    Add({"plan: first groups", absl::ToDoubleSeconds(plan.first_group), "s"});
    Add({.name = "plan: all",
         .value = absl::ToDoubleSeconds(plan.total),
         .unit = "s",
         .at_most = 60});
    Add({"plan: coordinator CPU", absl::ToDoubleSeconds(coordinator_->cpu() - cpu_before), "s"});
    Add({"plan: groups", static_cast<double>(plan.group_count), ""});
    Add({"plan: extents in them", static_cast<double>(plan.member_count), ""});
    AddPeak("planning");
    return absl::OkStatus();
  }

  void Idle(const std::string& when) {
    const absl::Duration begun = Now();
    const absl::Duration cpu_before = coordinator_->cpu();
    absl::SleepFor(absl::Seconds(options_.idle_seconds));
    const double share = absl::FDivDuration(coordinator_->cpu() - cpu_before, Now() - begun);
    Figure figure{.name = absl::StrCat("CPU of a fleet ", when, ", of one core"),
                  .value = 100 * share,
                  .unit = "%"};
    if (when == "idle") figure.at_most = 2;
    Add(std::move(figure));
    AddCalls(when);
    AddPeak(when);
  }

  struct Uploaded {
    absl::Duration begun;
    absl::Duration ended;
    absl::Duration cpu;  // used before
    double count = 0;
  };

  const Options& options_;
  const std::string self_;
  const std::string address_;
  const std::unique_ptr<ChildProcess> coordinator_;
  const std::string index_;
  std::unique_ptr<SyncLoad> syncs_;
  std::optional<LookUps> look_ups_;
  Uploaded uploaded_;
  std::vector<Figure> figures_;
};

}  // namespace

absl::StatusOr<std::vector<Figure>> MeasureFleet(const Options& options, const std::string& self) {
  ASSIGN_OR_RETURN(const int port, FreePort());
  ASSIGN_OR_RETURN(auto coordinator, ChildProcess::Start(CommandOf(options, self, port)));
  const std::string address = absl::StrCat("127.0.0.1:", port);
  RETURN_IF_ERROR(AwaitServer(address, absl::Seconds(30)));
  Measurement measurement(options, self, address, std::move(coordinator));
  RETURN_IF_ERROR(measurement.Run());
  return measurement.figures();
}

}  // namespace onefold::bench
