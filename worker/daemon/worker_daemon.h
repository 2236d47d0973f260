// WorkerDaemon: a worker of a fleet, all parts together. Tells each coordinator what this host has,
// takes its orders, and works on them until it is stopped.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_DAEMON_WORKER_DAEMON_H_
#define ONEFOLD_WORKER_DAEMON_WORKER_DAEMON_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "worker/daemon/assignments.h"
#include "worker/daemon/fleet_link.h"
#include "worker/daemon/fleet_runner.h"
#include "worker/daemon/host_inventory.h"
#include "worker/daemon/run_desk.h"
#include "worker/daemon/sync_loop.h"
#include "worker/daemon/waker.h"

namespace onefold {

// Reaches coordinators. Thread-safe; links live as long as this object.
class FleetLinks {
 public:
  virtual ~FleetLinks() = default;
  // The one from the configuration.
  virtual FleetLink& Home() = 0;
  // INVALID_ARGUMENT: it is no address.
  virtual absl::StatusOr<FleetLink*> To(const std::string& address) = 0;
};

class WorkerDaemon {
 public:
  struct Options {
    std::string worker_id;  // chosen at installation
    std::string version;
    std::string display_name;
    std::map<std::string, std::string> labels = {};
    std::vector<std::string> allow = {};
    RunDesk::Options desk = {};
  };
  struct Parts {
    Clock& clock;
    FleetLinks& links;
    RunJournal& journal;
    PathSource& paths;
    FactsSource& facts;
    std::function<absl::StatusOr<MountTable>()> read_mounts;
    // Makes what works; gets what it reaches coordinators with.
    std::function<std::unique_ptr<Runner>(ConnectVolume)> make_runner;
    // News for people; `trouble`: something does not work.
    std::function<void(bool trouble, const std::string& sentence)> say;
    std::function<double()> chance;
  };

  WorkerDaemon(Options options, Parts parts);
  ~WorkerDaemon();
  WorkerDaemon(const WorkerDaemon&) = delete;
  WorkerDaemon& operator=(const WorkerDaemon&) = delete;

  // Takes up what was under way, then works. An error: the state cannot be read.
  absl::Status Start();

  // Ends all work and says so to the coordinators, within `patience`. False: a run still works;
  // then the process can only be ended as a whole.
  bool Stop(absl::Duration patience);

  // For people: "2 runs under way".
  std::string StatusText();

 private:
  void TickLoop();
  // Tells the conversations if filesystems came or went. Returns when to look again at the latest.
  absl::Duration NoteMounts(bool changed);
  // Tells the conversations if runs have changed their state.
  void NoteChanges();
  // Of the volumes that `address` serves; asks and begins further conversations if it is home.
  v1::SyncRequest MakeRequest(const std::string& address);
  void Take(const std::string& address, const v1::SyncResponse& response, absl::Duration asked_at);
  absl::StatusOr<std::unique_ptr<VolumeLink>> Connect(const VolumeUuid& volume, LeaseWatch& watch);
  bool IsServedBy(const std::string& address, const std::string& volume_bytes);
  void AddConversations();
  // Says each sentence once until it is gone.
  void SayOnce(const std::string& topic, bool trouble, const std::vector<std::string>& sentences);

  const Options options_;
  const Parts parts_;
  Assignments assignments_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<RunDesk> desk_;

  Waker waker_;
  // Of the ticker: what was mounted, and when it looked.
  std::string mounted_;
  bool mounts_changed_ = false;
  absl::Duration mounts_seen_ = -absl::InfiniteDuration();

  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string states_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<SyncLoop>> loops_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<std::string>> said_ ABSL_GUARDED_BY(mutex_);
  std::thread ticker_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_WORKER_DAEMON_H_
