#include "coordinator/fleet/host.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/fleet/limits.h"

namespace onefold::fleet {
namespace {

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

template <typename Paths>
bool ArePaths(const Paths& paths) {
  if (paths.size() > kPathsPerVolumeMax) return false;
  for (const std::string& path : paths) {
    if (path.empty() || path[0] != '/' || path.size() > kPathBytesMax) return false;
  }
  return true;
}

absl::Status CheckVolume(const v1::MountedVolume& volume) {
  if (volume.label().size() > kNameBytesMax || volume.trouble().size() > kSentenceBytesMax) {
    return Wrong("host: the label or trouble of a volume is too long");
  }
  if (!ArePaths(volume.mount_paths()) || !ArePaths(volume.allowed_roots())) {
    return Wrong("host: mount_paths and allowed_roots must be absolute paths, at most 64");
  }
  if (volume.size_bytes() < 0 || volume.used_bytes() < 0) return Wrong("host: negative size");
  return absl::OkStatus();
}

absl::Status CheckLabels(const v1::HostReport& report) {
  if (report.labels_size() > kLabelsPerHostMax) return Wrong("host: too many labels");
  for (const auto& [key, value] : report.labels()) {
    if (key.empty() || key.size() > kLabelBytesMax || value.size() > kLabelBytesMax) {
      return Wrong("host: a label is empty or longer than 128 bytes");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string HostVolume::Name() const {
  if (!mounted.label().empty()) return mounted.label();
  if (mounted.mount_paths_size() > 0) return mounted.mount_paths(0);
  return ToString(uuid);
}

absl::Status CheckHostReport(const std::string& host_id, const std::string& version,
                             const v1::HostReport& report) {
  if (host_id.empty() || host_id.size() > kNameBytesMax) return Wrong("worker_id: not valid");
  if (version.size() > kNameBytesMax || report.display_name().size() > kNameBytesMax) {
    return Wrong("host: name or version is too long");
  }
  RETURN_IF_ERROR(CheckLabels(report));
  if (report.volumes_size() > kVolumesPerHostMax) return Wrong("host: too many volumes");
  if (report.runs_size() > kRunsPerReportMax) return Wrong("host: too many runs");
  std::set<VolumeUuid> uuids;
  size_t bytes = 0;
  for (const v1::MountedVolume& volume : report.volumes()) {
    const std::optional<VolumeUuid> uuid = VolumeUuidFromBytes(volume.volume_uuid());
    if (!uuid) return Wrong("host: a volume_uuid has not 16 bytes");
    if (!uuids.insert(*uuid).second) return Wrong("host: a volume is listed twice");
    RETURN_IF_ERROR(CheckVolume(volume));
    bytes += volume.ByteSizeLong();
  }
  if (bytes > kHostReportBytesMax) return Wrong("host: more than 256 KiB of volumes");
  return absl::OkStatus();
}

Host HostOf(const std::string& host_id, const std::string& version, const v1::HostReport& report,
            const std::optional<Host>& before) {
  Host host = {.id = host_id,
               .name = report.display_name().empty() ? host_id : report.display_name(),
               .labels = {report.labels().begin(), report.labels().end()},
               .version = version,
               .drained = before && before->drained};
  for (const v1::MountedVolume& mounted : report.volumes()) {
    host.volumes.push_back(
        {.uuid = *VolumeUuidFromBytes(mounted.volume_uuid()), .mounted = mounted});
  }
  return host;
}

storage::v1::HostRecord ToRecord(const Host& host) {
  storage::v1::HostRecord record;
  record.set_display_name(host.name);
  record.mutable_labels()->insert(host.labels.begin(), host.labels.end());
  for (const HostVolume& volume : host.volumes) {
    const v1::MountedVolume& from = volume.mounted;
    storage::v1::HostVolumeRecord& to = *record.add_volumes();
    to.set_volume_uuid(ToBytes(volume.uuid));
    to.set_label(from.label());
    *to.mutable_mount_paths() = from.mount_paths();
    *to.mutable_allowed_roots() = from.allowed_roots();
    to.set_size_bytes(from.size_bytes());
    to.set_used_bytes(from.used_bytes());
    to.set_trouble(from.trouble());
    to.set_duplicate_uuid(from.duplicate_uuid());
  }
  record.set_version(host.version);
  record.set_drained(host.drained);
  record.set_last_seen_unix_seconds(absl::ToUnixSeconds(host.last_seen));
  return record;
}

absl::StatusOr<Host> HostFromRecord(const std::string& id, const storage::v1::HostRecord& record) {
  Host host = {.id = id,
               .name = record.display_name(),
               .labels = {record.labels().begin(), record.labels().end()},
               .version = record.version(),
               .drained = record.drained(),
               .last_seen = absl::FromUnixSeconds(record.last_seen_unix_seconds())};
  for (const storage::v1::HostVolumeRecord& from : record.volumes()) {
    const std::optional<VolumeUuid> uuid = VolumeUuidFromBytes(from.volume_uuid());
    if (!uuid) return absl::DataLossError("the record of a host is damaged");
    HostVolume& volume = host.volumes.emplace_back();
    volume.uuid = *uuid;
    v1::MountedVolume& to = volume.mounted;
    to.set_volume_uuid(from.volume_uuid());
    to.set_label(from.label());
    *to.mutable_mount_paths() = from.mount_paths();
    *to.mutable_allowed_roots() = from.allowed_roots();
    to.set_size_bytes(from.size_bytes());
    to.set_used_bytes(from.used_bytes());
    to.set_trouble(from.trouble());
    to.set_duplicate_uuid(from.duplicate_uuid());
  }
  return host;
}

namespace {

bool SameOnDisk(const v1::MountedVolume& a, const v1::MountedVolume& b) {
  const auto same_paths = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  return a.label() == b.label() && a.size_bytes() == b.size_bytes() && a.trouble() == b.trouble() &&
         a.duplicate_uuid() == b.duplicate_uuid() && same_paths(a.mount_paths(), b.mount_paths()) &&
         same_paths(a.allowed_roots(), b.allowed_roots());
}

}  // namespace

bool SameOnDisk(const Host& a, const Host& b) {
  if (a.name != b.name || a.labels != b.labels || a.version != b.version ||
      a.drained != b.drained || a.volumes.size() != b.volumes.size()) {
    return false;
  }
  for (size_t i = 0; i < a.volumes.size(); ++i) {
    if (a.volumes[i].uuid != b.volumes[i].uuid) return false;
    if (!SameOnDisk(a.volumes[i].mounted, b.volumes[i].mounted)) return false;
  }
  return true;
}

storage::v1::VolumeClaimRecord ToRecord(const Claim& claim) {
  storage::v1::VolumeClaimRecord record;
  record.set_host_id(claim.host_id);
  record.set_former_host_id(claim.former_host_id);
  record.set_since_unix_seconds(absl::ToUnixSeconds(claim.since));
  record.set_needs_full(claim.needs_full);
  return record;
}

Claim ClaimFromRecord(const storage::v1::VolumeClaimRecord& record) {
  return {.host_id = record.host_id(),
          .former_host_id = record.former_host_id(),
          .since = absl::FromUnixSeconds(record.since_unix_seconds()),
          .needs_full = record.needs_full()};
}

}  // namespace onefold::fleet
