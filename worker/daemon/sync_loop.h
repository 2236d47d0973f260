// SyncLoop: the conversation with one coordinator: calls it when its schedule says so, with what
// there is to tell, and hands on what it answers.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_SYNC_LOOP_H_
#define ONEFOLD_WORKER_DAEMON_SYNC_LOOP_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "onefold/v1/coordinator_service.pb.h"
#include "worker/daemon/fleet_link.h"
#include "worker/daemon/sync_schedule.h"

namespace onefold {

class SyncLoop {
 public:
  struct Parts {
    Clock& clock;
    FleetLink& link;
    // What is to be told now. Called by the loop's thread.
    std::function<v1::SyncRequest()> make_request;
    // `asked_at`: when the request was sent.
    std::function<void(const v1::SyncResponse& response, absl::Duration asked_at)> take;
    // News for people; `trouble`: something does not work.
    std::function<void(bool trouble, const std::string& sentence)> say;
    std::function<double()> chance;
  };

  explicit SyncLoop(Parts parts);
  // Stops.
  ~SyncLoop();
  SyncLoop(const SyncLoop&) = delete;
  SyncLoop& operator=(const SyncLoop&) = delete;

  // Calls from now on, in a thread of its own.
  void Start();
  // There is something to tell.
  void Changed();
  // The next call is due now, even if nobody answered before.
  void CallSoon();
  // Waits until a call that began after CallSoon has ended, but not longer than `patience`.
  void AwaitCall(absl::Duration patience);
  // Breaks off a call under way and ends the thread.
  void Stop();

  // Calls if it is time; returns when it is next. What the thread does.
  absl::Duration Step();
  // Calls now, whatever the time.
  absl::Status Call();

 private:
  void Loop();
  void Tell(SyncSchedule::News news, const absl::Status& status);

  const Parts parts_;
  Mutex mutex_;
  CondVar changed_;
  SyncSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool call_soon_ ABSL_GUARDED_BY(mutex_) = false;
  bool calling_soon_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_SYNC_LOOP_H_
