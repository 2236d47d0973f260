// Host, Claim: what is known of a worker's host, and whose a volume is. Plain values.

#ifndef ONEFOLD_COORDINATOR_FLEET_HOST_H_
#define ONEFOLD_COORDINATOR_FLEET_HOST_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "onefold/storage/v1/fleet.pb.h"
#include "onefold/v1/fleet.pb.h"

namespace onefold::fleet {

struct HostVolume {
  VolumeUuid uuid;
  v1::MountedVolume mounted;

  // What people call it: label, else mount point, else uuid.
  std::string Name() const;
};

struct Host {
  std::string id;
  std::string name;  // for people; the id if it told none
  std::map<std::string, std::string> labels = {};
  std::vector<HostVolume> volumes = {};
  std::string version = {};
  bool drained = false;
  absl::Time last_seen = {};     // by the wall clock, for people
  absl::Duration heard_at = {};  // by the monotonic clock; not kept
};

// A volume's owner: the host that had it first and has not given it up.
struct Claim {
  std::string host_id;  // empty: nobody now
  std::string former_host_id;
  absl::Time since;
  bool needs_full = false;

  friend bool operator==(const Claim&, const Claim&) = default;
};

// INVALID_ARGUMENT: beyond the bounds, or not what it should be.
absl::Status CheckHostReport(const std::string& host_id, const std::string& version,
                             const v1::HostReport& report);

// The host of a report that was checked. `before`: what was known of it.
Host HostOf(const std::string& host_id, const std::string& version, const v1::HostReport& report,
            const std::optional<Host>& before);

// Whether what would be kept of them differs; when it was seen and how full it is do not count, so
// that disks may sleep while nothing else changes.
bool SameOnDisk(const Host& a, const Host& b);

storage::v1::HostRecord ToRecord(const Host& host);
// DATA_LOSS: damaged.
absl::StatusOr<Host> HostFromRecord(const std::string& id, const storage::v1::HostRecord& record);

storage::v1::VolumeClaimRecord ToRecord(const Claim& claim);
Claim ClaimFromRecord(const storage::v1::VolumeClaimRecord& record);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_HOST_H_
