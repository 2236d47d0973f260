#include "worker/daemon/run_desk.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/status_macros.h"
#include "google/protobuf/duration.pb.h"
#include "worker/daemon/run_figures.h"

namespace onefold {
namespace {

constexpr size_t kRunIdBytesMax = 64;
constexpr size_t kVolumeUuidBytes = 16;

bool HasEnded(v1::RunState state) {
  return state == v1::RUN_STATE_COMPLETED || state == v1::RUN_STATE_INCOMPLETE ||
         state == v1::RUN_STATE_CANCELLED || state == v1::RUN_STATE_FAILED;
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

void ToProto(absl::Duration duration, google::protobuf::Duration& message) {
  const int64_t seconds = absl::IDivDuration(duration, absl::Seconds(1), &duration);
  message.set_seconds(seconds);
  message.set_nanos(static_cast<int32_t>(duration / absl::Nanoseconds(1)));
}

// What is known of a part that did nothing.
VolumeReport NothingDone() {
  VolumeReport report;
  for (auto* figure : {&report.counters.extents_scanned, &report.counters.bytes_scanned,
                       &report.counters.file_bytes_read, &report.counters.dedupe_requests,
                       &report.counters.bytes_shared, &report.counters.bytes_freed,
                       &report.counters.bytes_written, &report.counters.metadata_bytes_grown}) {
    *figure = 0;
  }
  return report;
}

}  // namespace

struct RunDesk::Entry {
  v1::RunOrder order;    // as told last
  v1::RunStatus status;  // as of the end of the last part
  bool figures_unknown = false;
  bool taken_back = false;  // not told of
  Wish wish = Wish::kNothing;
  std::optional<absl::Duration> deadline;  // of the window
  absl::Duration not_before = absl::ZeroDuration();
  int failed_tries = 0;
  // Of the part under way.
  std::unique_ptr<RunTicket> ticket = nullptr;
  std::thread thread = {};
  absl::Duration started_at = absl::ZeroDuration();
  bool thread_ended = false;

  bool working() const { return ticket != nullptr; }
};

RunDesk::RunDesk(Options options, Clock& clock, RunJournal& journal, Runner& runner,
                 std::function<void()> changed)
    : options_(options),
      clock_(clock),
      journal_(journal),
      runner_(runner),
      changed_(std::move(changed)) {}

RunDesk::~RunDesk() {
  Stop(absl::InfiniteDuration());
  MutexLock lock(&mutex_);
  for (auto& [id, entry] : entries_) {
    if (entry.thread.joinable()) entry.thread.join();
  }
}

absl::Status RunDesk::Load() {
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(std::vector<storage::v1::WorkerRun> runs, journal_.ReadAll());
  for (storage::v1::WorkerRun& run : runs) {
    Entry& entry = entries_[run.order().run_id()];
    entry.order = std::move(*run.mutable_order());
    entry.status = std::move(*run.mutable_status());
    entry.figures_unknown = run.figures_unknown();
    entry.taken_back = run.taken_back();
    if (run.working()) {
      entry.figures_unknown = true;
      ForgetFigures(*entry.status.mutable_figures());
      entry.status.set_state(v1::RUN_STATE_WAITING);
      entry.status.set_message("the worker was killed in the middle of it; goes on");
      Remember(entry);
    } else if (entry.status.state() == v1::RUN_STATE_RUNNING) {
      entry.status.set_state(v1::RUN_STATE_WAITING);
      entry.status.set_message("the worker was restarted; goes on");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RunDesk::Entry*> RunDesk::Find(const v1::RunOrder& order) {
  if (!v1::RunOrder::Action_IsValid(order.action()) ||
      order.action() == v1::RunOrder::ACTION_UNSPECIFIED) {
    return absl::InvalidArgumentError("an order without an action");
  }
  if (order.run_id().empty() || order.run_id().size() > kRunIdBytesMax) {
    return absl::InvalidArgumentError("an order without a run");
  }
  const auto found = entries_.find(order.run_id());
  if (found != entries_.end()) {
    if (!order.volume_uuid().empty() && order.volume_uuid() != found->second.order.volume_uuid()) {
      return absl::InvalidArgumentError("a run does not change its volume");
    }
    return &found->second;
  }
  if (order.action() == v1::RunOrder::ACTION_FORGET) return nullptr;
  if (order.volume_uuid().size() != kVolumeUuidBytes) {
    return absl::InvalidArgumentError("an order without a volume");
  }
  if (entries_.size() >= options_.runs_max) {
    return absl::ResourceExhaustedError("too many runs are ordered");
  }
  Entry& entry = entries_[order.run_id()];
  entry.order = order;
  entry.status.set_run_id(order.run_id());
  entry.status.set_attempt(order.attempt());
  return &entry;
}

absl::Status RunDesk::Take(const v1::RunOrder& order, absl::Duration asked_at) {
  {
    MutexLock lock(&mutex_);
    if (stopping_) return absl::OkStatus();
    ASSIGN_OR_RETURN(Entry* const entry, Find(order));
    if (entry == nullptr) return absl::OkStatus();
    Obey(order, asked_at, *entry);
    DropTakenBack();
  }
  changed_();
  return absl::OkStatus();
}

void RunDesk::Obey(const v1::RunOrder& order, absl::Duration asked_at, Entry& entry) {
  if (entry.wish == Wish::kForget) return;
  if (order.attempt() != 0 && order.attempt() < entry.status.attempt()) return;  // late
  switch (order.action()) {
    case v1::RunOrder::ACTION_RUN:
      if (HasEnded(entry.status.state())) return;
      entry.wish = Wish::kRun;
      entry.order = order;
      entry.status.set_attempt(order.attempt());
      entry.taken_back = false;
      entry.deadline = order.has_time_left()
                           ? std::optional(asked_at + FromProto(order.time_left()))
                           : std::nullopt;
      if (entry.working()) entry.ticket->SetThrottle(order.throttle());
      return;
    case v1::RunOrder::ACTION_PAUSE: entry.wish = Wish::kPause; return;
    case v1::RunOrder::ACTION_CANCEL: entry.wish = Wish::kCancel; return;
    case v1::RunOrder::ACTION_FORGET:
      if (!entry.working() && entry.status.state() == v1::RUN_STATE_WAITING) {
        entry.wish = Wish::kNothing;
        entry.taken_back = true;
        Remember(entry);
      } else {
        entry.wish = Wish::kForget;
      }
      return;
    default: return;
  }
}

void RunDesk::DropTakenBack() {
  // Identities that come later are larger: the smallest is the oldest.
  size_t count = 0;
  for (const auto& [id, entry] : entries_) count += entry.taken_back ? 1 : 0;
  for (auto it = entries_.begin(); count > options_.taken_back_max; ++it) {
    if (!it->second.taken_back) continue;
    it->second.taken_back = false;
    it->second.wish = Wish::kForget;  // with the next tick
    --count;
  }
}

bool RunDesk::MayStart(const Entry& entry, absl::Duration now) const {
  if (stopping_ || entry.working() || entry.wish != Wish::kRun || HasEnded(entry.status.state()) ||
      now < entry.not_before) {
    return false;
  }
  int working = 0;
  for (const auto& [id, other] : entries_) {
    if (!other.working()) continue;
    if (other.order.volume_uuid() == entry.order.volume_uuid()) return false;
    ++working;
  }
  return working < options_.runs_at_once;
}

absl::Duration RunDesk::Tick() {
  const absl::Duration now = clock_.Monotonic();
  absl::Duration next = absl::InfiniteDuration();
  MutexLock lock(&mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    if (entry.thread_ended) {
      entry.thread.join();
      entry.thread_ended = false;
    }
    if (entry.working()) {
      if (entry.wish == Wish::kRun && entry.deadline.has_value()) {
        if (now >= *entry.deadline) {
          entry.ticket->stop().Request(StopSignal::Reason::kTimeLimit);
        } else {
          next = std::min(next, *entry.deadline);
        }
      } else if (entry.wish != Wish::kRun) {
        entry.ticket->stop().Request(StopSignal::Reason::kInterrupted);
      }
    } else {
      Settle(entry);
      if (entry.wish == Wish::kForget) {
        journal_.Erase(it->first).IgnoreError();  // forgotten again after the next start
        it = entries_.erase(it);
        continue;
      }
      if (MayStart(entry, now)) Start(entry);
      if (entry.wish == Wish::kRun && now < entry.not_before) {
        next = std::min(next, entry.not_before);
      }
      if (entry.working() && entry.deadline.has_value()) next = std::min(next, *entry.deadline);
    }
    ++it;
  }
  return next;
}

void RunDesk::Settle(Entry& entry) {
  v1::RunStatus& status = entry.status;
  if (HasEnded(status.state())) return;
  const v1::RunState before = status.state();
  switch (entry.wish) {
    case Wish::kPause:
      status.set_state(v1::RUN_STATE_PAUSED);
      status.clear_message();
      break;
    case Wish::kCancel:
      status.set_state(v1::RUN_STATE_CANCELLED);
      status.clear_message();
      break;
    case Wish::kRun:
      // Its window is over before it began.
      if (entry.deadline.has_value() && clock_.Monotonic() >= *entry.deadline) {
        status.set_state(v1::RUN_STATE_WAITING);
        status.set_message("the window ended");
        entry.wish = Wish::kNothing;
      }
      break;
    case Wish::kNothing:
    case Wish::kForget: break;
  }
  if (status.state() != before) Remember(entry);
}

void RunDesk::Start(Entry& entry) {
  entry.ticket = std::make_unique<RunTicket>(entry.order.throttle());
  entry.started_at = clock_.Monotonic();
  entry.status.set_state(v1::RUN_STATE_RUNNING);
  entry.status.clear_message();
  Remember(entry);
  // The entry stays where it is while its thread works.
  entry.thread = std::thread([this, &entry, order = entry.order] { Work(entry, order); });
  pthread_setname_np(entry.thread.native_handle(), "onefold-run");
}

void RunDesk::Work(Entry& entry, const v1::RunOrder& order) {
  RunTicket* ticket = nullptr;
  {
    MutexLock lock(&mutex_);
    ticket = entry.ticket.get();
  }
  VolumeReport report = NothingDone();
  const Runner::End end = runner_.Run(order, *ticket, report);
  {
    MutexLock lock(&mutex_);
    Conclude(entry, end, report);
    entry.ticket.reset();
    entry.thread_ended = true;
    Remember(entry);
    ended_.NotifyAll();
  }
  changed_();
}

void RunDesk::Conclude(Entry& entry, const Runner::End& end, const VolumeReport& report) {
  v1::RunStatus& status = entry.status;
  AddPart(report, entry.figures_unknown, status);
  ToProto(FromProto(status.elapsed()) + clock_.Monotonic() - entry.started_at,
          *status.mutable_elapsed());
  const auto become = [&](v1::RunState state, absl::string_view message) {
    status.set_state(state);
    status.set_message(WireText(message));
  };
  const std::string lost_lease = entry.ticket->lost_lease();
  const StopSignal::Reason stopped = entry.ticket->stop().reason();
  if (end.status.ok()) entry.failed_tries = 0;
  if (entry.wish == Wish::kCancel || entry.wish == Wish::kForget) {
    become(v1::RUN_STATE_CANCELLED, "");
  } else if (stopping_) {
    become(v1::RUN_STATE_WAITING, "the worker was stopped; goes on when it is back");
  } else if (entry.wish == Wish::kPause) {
    become(v1::RUN_STATE_PAUSED, "");
  } else if (!lost_lease.empty()) {
    // Whether it goes on, and where, is the coordinator's to say.
    entry.wish = Wish::kNothing;
    become(v1::RUN_STATE_WAITING, lost_lease);
  } else if (stopped == StopSignal::Reason::kTimeLimit) {
    // Goes on when it is told to: in the next window.
    if (entry.deadline.has_value() && clock_.Monotonic() >= *entry.deadline) {
      entry.wish = Wish::kNothing;
    }
    become(v1::RUN_STATE_WAITING, "the window ended");
  } else if (stopped != StopSignal::Reason::kNone) {  // held and told to go on before it stopped
    become(v1::RUN_STATE_WAITING, "");
  } else if (end.status.ok()) {
    const bool less =
        status.problem_count() > 0 || (!report.stopped_because.empty() && !entry.order.dry_run());
    become(less ? v1::RUN_STATE_INCOMPLETE : v1::RUN_STATE_COMPLETED, report.stopped_because);
    status.set_phase(v1::RUN_PHASE_DONE);
    status.set_phase_fraction(1);
  } else if (end.may_pass &&
             (absl::IsUnavailable(end.status) || absl::IsResourceExhausted(end.status) ||
              entry.failed_tries + 1 < options_.tries_max)) {
    const int doublings = std::min(entry.failed_tries++, 20);
    entry.not_before =
        clock_.Monotonic() +
        std::min(options_.retry_pause * (int64_t{1} << doublings), options_.retry_pause_max);
    // It keeps its slot: giving it back would only have it ordered anew at once.
    become(v1::RUN_STATE_RUNNING, absl::StrCat("tried again soon: ", end.status.message()));
  } else {
    // What was done before counts; what failed is named.
    v1::RunProblem& problem = *status.add_problems();
    problem.set_reason("failed");
    problem.set_detail(WireText(end.status.message()));
    status.set_problem_count(status.problem_count() + 1);
    become(status.figures().dedupe_requests() > 0 ? v1::RUN_STATE_INCOMPLETE : v1::RUN_STATE_FAILED,
           end.status.message());
  }
}

void RunDesk::Remember(const Entry& entry) {
  storage::v1::WorkerRun run;
  *run.mutable_order() = entry.order;
  *run.mutable_status() = entry.status;
  run.set_working(entry.working());
  run.set_figures_unknown(entry.figures_unknown);
  run.set_taken_back(entry.taken_back);
  // A full disk is no reason not to work: what is lost is only this worker's memory of it.
  journal_.Write(run).IgnoreError();
}

v1::RunStatus RunDesk::StatusOf(Entry& entry, absl::Duration now) const {
  v1::RunStatus status = entry.status;
  if (entry.working()) {
    status.set_state(v1::RUN_STATE_RUNNING);
    AddLive(entry.ticket->progress(), entry.figures_unknown, status);
    status.set_throttled_by(WireText(entry.ticket->throttled_by()));
    ToProto(FromProto(status.elapsed()) + now - entry.started_at, *status.mutable_elapsed());
  } else if (!stopping_ && entry.wish == Wish::kRun && !HasEnded(status.state())) {
    status.set_state(v1::RUN_STATE_RUNNING);
    if (status.message().empty()) status.set_message("waits for another run of this host");
  } else if (status.state() == v1::RUN_STATE_UNSPECIFIED) {
    status.set_state(v1::RUN_STATE_WAITING);
  }
  return status;
}

std::vector<RunDesk::Known> RunDesk::Runs() {
  const absl::Duration now = clock_.Monotonic();
  std::vector<Known> runs;
  MutexLock lock(&mutex_);
  for (auto& [id, entry] : entries_) {
    if (entry.taken_back) continue;
    runs.push_back({.volume_uuid = entry.order.volume_uuid(), .status = StatusOf(entry, now)});
  }
  return runs;
}

int RunDesk::working_count() {
  MutexLock lock(&mutex_);
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(),
                                        [](const auto& item) { return item.second.working(); }));
}

bool RunDesk::Stop(absl::Duration patience) {
  const absl::Duration end = clock_.Monotonic() + patience;
  MutexLock lock(&mutex_);
  stopping_ = true;
  const auto working = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bool any = false;
    for (auto& [id, entry] : entries_) {
      if (!entry.working()) continue;
      entry.ticket->stop().Request(StopSignal::Reason::kInterrupted);
      any = true;
    }
    return any;
  };
  while (working()) {
    if (clock_.Monotonic() >= end) return false;
    ended_.WaitFor(&mutex_, std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace onefold
