#include "worker/daemon/sync_loop.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onefold {

SyncLoop::SyncLoop(Parts parts) : parts_(std::move(parts)), schedule_(parts_.chance) {}

SyncLoop::~SyncLoop() { Stop(); }

void SyncLoop::Start() {
  thread_ = std::thread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "onefold-sync");
}

void SyncLoop::Changed() {
  MutexLock lock(&mutex_);
  schedule_.Changed(parts_.clock.Monotonic());
  changed_.NotifyAll();
}

void SyncLoop::CallSoon() {
  MutexLock lock(&mutex_);
  call_soon_ = true;
  changed_.NotifyAll();
}

void SyncLoop::AwaitCall(absl::Duration patience) {
  const absl::Duration end = parts_.clock.Monotonic() + patience;
  MutexLock lock(&mutex_);
  while (call_soon_ || calling_soon_) {
    const absl::Duration left = end - parts_.clock.Monotonic();
    if (left <= absl::ZeroDuration()) return;
    changed_.WaitFor(&mutex_, absl::ToChronoMilliseconds(absl::Ceil(
                                  std::min(left, absl::Minutes(1)), absl::Milliseconds(1))));
  }
}

void SyncLoop::Stop() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  if (!thread_.joinable()) return;
  parts_.link.Cancel();
  thread_.join();
}

absl::Duration SyncLoop::Step() {
  {
    MutexLock lock(&mutex_);
    if (!call_soon_ && parts_.clock.Monotonic() < schedule_.next()) return schedule_.next();
    calling_soon_ = std::exchange(call_soon_, false);
  }
  const absl::Status status = Call();
  SyncSchedule::News news = SyncSchedule::News::kNone;
  absl::Duration next;
  {
    MutexLock lock(&mutex_);
    if (!status.ok()) news = schedule_.Failed(parts_.clock.Monotonic());
    next = schedule_.next();
    calling_soon_ = false;
    changed_.NotifyAll();
    if (stopped_) news = SyncSchedule::News::kNone;
  }
  Tell(news, status);
  return next;
}

absl::Status SyncLoop::Call() {
  const absl::Duration asked_at = parts_.clock.Monotonic();
  {
    MutexLock lock(&mutex_);
    schedule_.Begun(asked_at);
  }
  const absl::StatusOr<v1::SyncResponse> response = parts_.link.Sync(parts_.make_request());
  if (!response.ok()) return response.status();
  parts_.take(*response, asked_at);
  const absl::Duration delay = absl::Seconds(response->sync_delay().seconds()) +
                               absl::Nanoseconds(response->sync_delay().nanos());
  SyncSchedule::News news;
  {
    MutexLock lock(&mutex_);
    news = schedule_.Succeeded(delay, parts_.clock.Monotonic());
  }
  Tell(news, absl::OkStatus());
  return absl::OkStatus();
}

void SyncLoop::Tell(SyncSchedule::News news, const absl::Status& status) {
  switch (news) {
    case SyncSchedule::News::kNone: return;
    case SyncSchedule::News::kBack: parts_.say(false, "the coordinator answers again"); return;
    case SyncSchedule::News::kLost:
      parts_.say(true,
                 absl::StrCat("the coordinator does not answer; tried again: ", status.message()));
      return;
    case SyncSchedule::News::kStillLost:
      parts_.say(true, absl::StrCat("the coordinator still does not answer: ", status.message()));
      return;
  }
}

void SyncLoop::Loop() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (stopped_) return;
    }
    Step();
    MutexLock lock(&mutex_);
    if (stopped_) return;
    if (call_soon_) continue;
    // The clock of waiting may stand still in suspend.
    constexpr absl::Duration kStepMax = absl::Seconds(30);
    const absl::Duration wait =
        std::clamp(schedule_.next() - parts_.clock.Monotonic(), absl::Milliseconds(1), kStepMax);
    changed_.WaitFor(&mutex_, absl::ToChronoMilliseconds(absl::Ceil(wait, absl::Milliseconds(1))));
  }
}

}  // namespace onefold
