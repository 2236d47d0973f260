// RunDesk: takes the coordinator's orders and carries them out, each run in a thread of its own,
// one at a time on each volume and a few at a time on the host.
//
// A run lives here from its first order until the coordinator has recorded its end (ACTION_FORGET).
// In between it is worked on in parts: its window ends, a person holds it, its lease is lost, the
// worker is restarted. After each part it is remembered on disk, so that a worker that was killed
// knows what it was doing; what a killed part had done is not known and reported so.
//
// Orders may come twice or late: each says what is wanted now, and the last one wins, but for those
// that belong to an earlier attempt. A run that is WAITING has given its slot back; the coordinator
// forgets that attempt and, when it is the run's turn again, orders the next. What was done before
// is remembered until then.
//
// Thread-safe. Nothing here blocks for long but Stop().

#ifndef ONEFOLD_WORKER_DAEMON_RUN_DESK_H_
#define ONEFOLD_WORKER_DAEMON_RUN_DESK_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/run_report.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/daemon/run_journal.h"
#include "worker/daemon/run_ticket.h"

namespace onefold {

// Works on one part of a run. Thread-safe.
class Runner {
 public:
  // How a part ended.
  struct End {
    absl::Status status = absl::OkStatus();
    // The reason for the error may pass: worth another try later.
    bool may_pass = false;
  };

  virtual ~Runner() = default;
  // Blocks until the part is done or ticket.stop() asks to end. Fills in `report` in any case.
  virtual End Run(const v1::RunOrder& order, RunTicket& ticket, VolumeReport& report) = 0;
};

class RunDesk {
 public:
  struct Options {
    int runs_at_once = 2;
    // Runs that are known at a time; further orders are not taken.
    size_t runs_max = 1000;
    // Runs that were taken back and may come again.
    size_t taken_back_max = 100;
    // After an error that may pass: twice as long each time, up to the longest.
    absl::Duration retry_pause = absl::Seconds(5);
    absl::Duration retry_pause_max = absl::Minutes(10);
    // Tries of what does not pass, though it might have.
    int tries_max = 8;
  };

  // `changed` is called, from any thread, when there is something new to report or to Tick for; it
  // must not call back. All must outlive this object.
  RunDesk(Options options, Clock& clock, RunJournal& journal, Runner& runner,
          std::function<void()> changed);
  // Stops.
  ~RunDesk();
  RunDesk(const RunDesk&) = delete;
  RunDesk& operator=(const RunDesk&) = delete;

  // Takes up what an earlier life of this worker had. Once, before anything else.
  absl::Status Load();

  // `asked_at` (Clock::Monotonic): when the request was sent that the order answers; its time_left
  // counts from then. INVALID_ARGUMENT, RESOURCE_EXHAUSTED: not taken.
  absl::Status Take(const v1::RunOrder& order, absl::Duration asked_at);

  // Starts and ends what is due. Returns when it wants to be called again at the latest, if at all.
  absl::Duration Tick();

  // A run and whose it is.
  struct Known {
    std::string volume_uuid;  // 16 bytes
    v1::RunStatus status;
  };
  // All runs that are not forgotten, by id.
  std::vector<Known> Runs();

  // Volumes that are worked on.
  int working_count();

  // Ends all work; every run is WAITING then (or what was asked for). Waits for the threads, but
  // not longer than `patience`: false if some still work. Takes nothing afterwards.
  bool Stop(absl::Duration patience);

 private:
  enum class Wish { kNothing, kRun, kPause, kCancel, kForget };
  struct Entry;
  using Entries = std::map<std::string, Entry>;

  void Start(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(Entry& entry, const v1::RunOrder& order);
  // The part has ended.
  void Conclude(Entry& entry, const Runner::End& end, const VolumeReport& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a run that nobody works on: what the last order makes of it.
  void Settle(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayStart(const Entry& entry, absl::Duration now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes room when too many runs were taken back.
  void DropTakenBack() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Entry*> Find(const v1::RunOrder& order) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Obey(const v1::RunOrder& order, absl::Duration asked_at, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::RunStatus StatusOf(Entry& entry, absl::Duration now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Clock& clock_;
  RunJournal& journal_;
  Runner& runner_;
  const std::function<void()> changed_;

  Mutex mutex_;
  CondVar ended_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_RUN_DESK_H_
