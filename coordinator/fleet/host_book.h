// HostBook: hosts, what they have, and whose each volume is.
//
// A volume is a filesystem, named by its uuid. The first host that reports it owns it until it
// reports without it, or is forgotten. Another host that reports it meanwhile has a copy, or the
// same disks: it is refused, with a sentence that says what to do. So neither a clone nor a lying
// host gets at the index of a volume that another host works on, nor can it stop that one.
//
// Pure: callers ask what would change, make that durable, and tell the book. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_FLEET_HOST_BOOK_H_
#define ONEFOLD_COORDINATOR_FLEET_HOST_BOOK_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "coordinator/fleet/host.h"
#include "coordinator/fleet/selector.h"

namespace onefold::fleet {

// A volume where it is owned. Valid until the book changes.
struct OwnedVolume {
  const Host* host = nullptr;
  const HostVolume* volume = nullptr;
  const Claim* claim = nullptr;

  Selector::Subject Subject() const;
};

class HostBook {
 public:
  // What a change of the book amounts to; nullopt deletes.
  struct Change {
    std::map<std::string, std::optional<Host>> hosts;
    std::map<VolumeUuid, std::optional<Claim>> claims;
    bool durable = false;  // it has something that must be written
  };

  // What a report that was checked changes. RESOURCE_EXHAUSTED: too many hosts.
  absl::StatusOr<Change> Report(Host host, absl::Time now, absl::Duration heard_at) const;
  Change SetDrained(const Host& host, bool drained) const;
  // The host and its claims are gone; who takes over its volumes begins their indexes anew.
  Change Forget(const Host& host, absl::Time now) const;
  // The volume's index was begun anew.
  Change ClearNeedsFull(const VolumeUuid& volume) const;

  void Apply(const Change& change);

  // nullptr if unknown.
  const Host* Find(absl::string_view id) const;
  // By id, or by name if only one has it. NOT_FOUND, INVALID_ARGUMENT.
  absl::StatusOr<const Host*> Resolve(absl::string_view id_or_name) const;
  const std::map<std::string, Host, std::less<>>& hosts() const { return hosts_; }

  // nullopt while it is mounted nowhere that may own it.
  std::optional<OwnedVolume> FindVolume(const VolumeUuid& uuid) const;
  const Claim* FindClaim(const VolumeUuid& uuid) const;
  std::vector<OwnedVolume> OwnedVolumes() const;

  // Why no run may work on the volume; empty if one may.
  std::string Refusal(const OwnedVolume& volume) const;
  // The sentence for a host that has a volume of another one.
  std::string CloneSentence(const Host& host, const HostVolume& volume) const;
  // What a person should know or type about a host. `recent`: moves after it are told.
  std::vector<std::string> Advice(const Host& host, absl::Time recent) const;

 private:
  // Of the volumes that a host has let go of, only the latest are remembered: a host that reports
  // new ones each time must not fill the disk.
  void ForgetOldest(const std::string& host_id, Change& change) const;

  std::map<std::string, Host, std::less<>> hosts_;
  std::map<VolumeUuid, Claim> claims_;
};

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_HOST_BOOK_H_
