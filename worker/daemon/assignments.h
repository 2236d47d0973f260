// Assignments: which coordinator serves which volume of this host. A coordinator that was asked
// before is believed while nobody answers. Thread-safe; no lock is held over a question.

#ifndef ONEFOLD_WORKER_DAEMON_ASSIGNMENTS_H_
#define ONEFOLD_WORKER_DAEMON_ASSIGNMENTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/uuid.h"
#include "worker/daemon/fleet_link.h"

namespace onefold {

class Assignments {
 public:
  // `clock` must outlive this object.
  explicit Assignments(Clock& clock) : clock_(clock) {}

  // Asks `home` about volumes that are new, and from time to time about the others.
  void Refresh(const std::vector<VolumeUuid>& volumes, FleetLink& home);

  // The address; empty: home. nullopt: not known (yet).
  std::optional<std::string> Find(const VolumeUuid& volume);
  // All but home.
  std::vector<std::string> addresses();

 private:
  struct Entry {
    std::string address;
    absl::Duration asked_at;
  };
  Clock& clock_;
  Mutex mutex_;
  std::map<VolumeUuid, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_ASSIGNMENTS_H_
