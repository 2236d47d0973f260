#include "coordinator/fleet/host_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/fleet/limits.h"

namespace onefold::fleet {

Selector::Subject OwnedVolume::Subject() const {
  return {.host_id = host->id,
          .host_name = host->name,
          .volume_label = volume->mounted.label(),
          .volume_uuid = ToString(volume->uuid),
          .host_labels = &host->labels};
}

absl::StatusOr<HostBook::Change> HostBook::Report(Host host, absl::Time now,
                                                  absl::Duration heard_at) const {
  const Host* before = Find(host.id);
  if (before == nullptr && hosts_.size() >= kHostsMax) {
    return absl::ResourceExhaustedError("there are too many hosts; forget some");
  }
  host.last_seen = now;
  host.heard_at = heard_at;
  Change change;
  std::set<VolumeUuid> has;
  for (const HostVolume& volume : host.volumes) {
    has.insert(volume.uuid);
    const Claim* claim = FindClaim(volume.uuid);
    if (claim != nullptr && !claim->host_id.empty()) continue;  // its own already, or refused
    Claim taken = claim == nullptr ? Claim{} : *claim;
    if (taken.former_host_id == host.id) taken.former_host_id.clear();  // it came back
    taken.host_id = host.id;
    taken.since = now;
    change.claims[volume.uuid] = std::move(taken);
  }
  // Only what the last report had can be missing now.
  for (const HostVolume& volume : before == nullptr ? std::vector<HostVolume>() : before->volumes) {
    const Claim* claim = FindClaim(volume.uuid);
    if (has.contains(volume.uuid) || claim == nullptr || claim->host_id != host.id) continue;
    Claim released = *claim;
    released.host_id.clear();
    released.former_host_id = host.id;
    released.since = now;
    change.claims[volume.uuid] = std::move(released);
  }
  ForgetOldest(host.id, change);
  change.durable = before == nullptr || !SameOnDisk(*before, host) || !change.claims.empty();
  const std::string id = host.id;
  change.hosts[id] = std::move(host);
  return change;
}

void HostBook::ForgetOldest(const std::string& host_id, Change& change) const {
  if (change.claims.empty()) return;
  std::vector<std::pair<absl::Time, VolumeUuid>> released;
  for (const auto& [uuid, claim] : claims_) {
    if (claim.host_id.empty() && claim.former_host_id == host_id && !change.claims.contains(uuid)) {
      released.push_back({claim.since, uuid});
    }
  }
  if (released.size() <= kReleasedClaimsMax) return;
  std::sort(released.begin(), released.end());
  for (size_t i = 0; i + kReleasedClaimsMax < released.size(); ++i) {
    change.claims[released[i].second] = std::nullopt;
  }
}

HostBook::Change HostBook::SetDrained(const Host& host, bool drained) const {
  Change change;
  Host changed = host;
  changed.drained = drained;
  change.durable = host.drained != drained;
  change.hosts[host.id] = std::move(changed);
  return change;
}

HostBook::Change HostBook::Forget(const Host& host, absl::Time now) const {
  Change change;
  change.durable = true;
  change.hosts[host.id] = std::nullopt;
  for (const auto& [uuid, claim] : claims_) {
    if (claim.host_id != host.id) continue;
    change.claims[uuid] = {
        .host_id = "", .former_host_id = host.id, .since = now, .needs_full = true};
  }
  return change;
}

HostBook::Change HostBook::ClearNeedsFull(const VolumeUuid& volume) const {
  Change change;
  const Claim* claim = FindClaim(volume);
  if (claim == nullptr || !claim->needs_full) return change;
  Claim cleared = *claim;
  cleared.needs_full = false;
  change.claims[volume] = std::move(cleared);
  change.durable = true;
  return change;
}

void HostBook::Apply(const Change& change) {
  for (const auto& [id, host] : change.hosts) {
    if (host) {
      hosts_[id] = *host;
    } else {
      hosts_.erase(id);
    }
  }
  for (const auto& [uuid, claim] : change.claims) {
    if (claim) {
      claims_[uuid] = *claim;
    } else {
      claims_.erase(uuid);
    }
  }
}

const Host* HostBook::Find(absl::string_view id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

absl::StatusOr<const Host*> HostBook::Resolve(absl::string_view id_or_name) const {
  if (const Host* host = Find(id_or_name)) return host;
  const Host* match = nullptr;
  for (const auto& [id, host] : hosts_) {
    if (host.name != id_or_name) continue;
    if (match != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("several hosts are called \"", id_or_name,
                                                     "\": name it by its id, ", match->id, " or ",
                                                     host.id));
    }
    match = &host;
  }
  if (match == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no host \"", id_or_name, "\"; `onefold fleet list` shows them"));
  }
  return match;
}

const Claim* HostBook::FindClaim(const VolumeUuid& uuid) const {
  const auto found = claims_.find(uuid);
  return found == claims_.end() ? nullptr : &found->second;
}

std::optional<OwnedVolume> HostBook::FindVolume(const VolumeUuid& uuid) const {
  const Claim* claim = FindClaim(uuid);
  const Host* host = claim == nullptr ? nullptr : Find(claim->host_id);
  if (host == nullptr) return std::nullopt;
  for (const HostVolume& volume : host->volumes) {
    if (volume.uuid == uuid) return OwnedVolume{.host = host, .volume = &volume, .claim = claim};
  }
  return std::nullopt;
}

std::vector<OwnedVolume> HostBook::OwnedVolumes() const {
  std::vector<OwnedVolume> volumes;
  for (const auto& [id, host] : hosts_) {
    for (const HostVolume& volume : host.volumes) {
      const Claim* claim = FindClaim(volume.uuid);
      if (claim != nullptr && claim->host_id == id) {
        volumes.push_back({.host = &host, .volume = &volume, .claim = claim});
      }
    }
  }
  return volumes;
}

std::string HostBook::Refusal(const OwnedVolume& volume) const {
  const v1::MountedVolume& mounted = volume.volume->mounted;
  const std::string name = absl::StrCat(volume.volume->Name(), " on ", volume.host->name);
  if (mounted.duplicate_uuid()) {
    return absl::StrCat(name,
                        ": two filesystems of this uuid are mounted there; unmount the copy "
                        "and give it a uuid of its own with `btrfstune -u DEVICE`");
  }
  if (mounted.allowed_roots().empty()) {
    return absl::StrCat(name, ": nothing is allowed there; `onefold fleet list` says what to type");
  }
  if (!mounted.trouble().empty()) return absl::StrCat(name, ": ", mounted.trouble());
  return "";
}

std::string HostBook::CloneSentence(const Host& host, const HostVolume& volume) const {
  const Claim* claim = FindClaim(volume.uuid);
  const Host* owner = claim == nullptr ? nullptr : Find(claim->host_id);
  if (owner == nullptr || owner->id == host.id) return "";
  return absl::StrCat("volume ", volume.Name(), " (", ToString(volume.uuid), ") belongs to host ",
                      owner->name,
                      ", which has not given it up, and is left alone here. If this is a copy, "
                      "unmount it and give it a uuid of its own: `btrfstune -u DEVICE`. If it was "
                      "moved, unmount it there, or type `onefold fleet forget ",
                      owner->name, "` if that host is gone");
}

std::vector<std::string> HostBook::Advice(const Host& host, absl::Time recent) const {
  std::vector<std::string> advice;
  if (host.volumes.empty()) advice.push_back("no btrfs filesystem is mounted on this host");
  std::vector<std::string> closed;  // where nothing is allowed
  for (const HostVolume& volume : host.volumes) {
    const v1::MountedVolume& mounted = volume.mounted;
    const Claim* claim = FindClaim(volume.uuid);
    if (claim != nullptr && claim->host_id != host.id) {
      if (std::string clone = CloneSentence(host, volume); !clone.empty()) {
        advice.push_back(std::move(clone));
      }
      continue;
    }
    const std::string refusal = Refusal({.host = &host, .volume = &volume, .claim = claim});
    if (!mounted.duplicate_uuid() && mounted.allowed_roots().empty()) {
      closed.push_back(mounted.mount_paths_size() > 0 ? mounted.mount_paths(0) : "PATH");
    } else if (!refusal.empty()) {
      advice.push_back(refusal);
    }
    if (claim != nullptr && !claim->former_host_id.empty() && claim->since >= recent) {
      const Host* former = Find(claim->former_host_id);
      advice.push_back(absl::StrCat("volume ", volume.Name(), " came here from host ",
                                    former == nullptr ? claim->former_host_id : former->name));
    }
  }
  for (const std::string& path : closed) {
    advice.push_back(absl::StrCat(
        path, ": nothing is allowed to be touched. On ", host.name,
        ", add to /etc/onefold/worker.yaml the lines \"allow:\" and \"  - ", path,
        "\" and restart the worker; or join with `onefold fleet join TOKEN@HOST:PORT --allow ",
        path, "`"));
  }
  return advice;
}

}  // namespace onefold::fleet
