// What this host has: every mounted btrfs filesystem, and what of it the host's own configuration
// allows to be touched. Made anew for every report; filesystems come and go while a worker runs.
//
// Pure but for what the two sources ask the system.

#ifndef ONEFOLD_WORKER_DAEMON_HOST_INVENTORY_H_
#define ONEFOLD_WORKER_DAEMON_HOST_INVENTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/btrfs_facts.h"
#include "worker/mounts.h"
#include "worker/resolve_targets.h"

namespace onefold {

// The system's answers about filesystems; tests give their own.
class FactsSource {
 public:
  virtual ~FactsSource() = default;
  // See ReadBtrfsFacts.
  virtual absl::StatusOr<BtrfsFacts> Facts(const std::string& path) = 0;
};

// Asks the running system.
class SystemFactsSource final : public FactsSource {
 public:
  absl::StatusOr<BtrfsFacts> Facts(const std::string& path) override;
};

struct HostInventory {
  // By uuid, ascending. Texts are UTF-8.
  std::vector<v1::MountedVolume> volumes;
  // Sentences about allowed paths that name nothing to work on.
  std::vector<std::string> problems;
};

// `allow`: absolute paths from the host's configuration. Texts that are no UTF-8 are escaped: they
// are for people, and no path that is sent is ever taken back.
HostInventory TakeInventory(const MountTable& mounts, const std::vector<std::string>& allow,
                            PathSource& paths, FactsSource& facts);

// Of one filesystem: where it can be reached, writable mounts first.
struct MountedFilesystem {
  VolumeUuid uuid;
  std::string device;                // of the mount table
  std::vector<const Mount*> mounts;  // at least one
};

// All btrfs filesystems that `mounts` shows and that can be looked at, by uuid. Two that have one
// uuid (a copied disk) are two entries.
std::vector<MountedFilesystem> FindFilesystems(const MountTable& mounts, PathSource& paths);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_HOST_INVENTORY_H_
