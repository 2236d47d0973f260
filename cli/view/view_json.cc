#include "cli/view/view_json.h"

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/json_pieces.h"
#include "cli/fleet/run_object.h"
#include "cli/view/view_words.h"
#include "common/escape.h"

namespace onefold {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(bool has, int64_t value) { return has ? Json(value) : Json(); }

Json SpaceObject(const v1::SpaceFigures& space) {
  Json json;
  json["size_bytes"] = NumberOrNull(space.has_size_bytes(), space.size_bytes());
  json["used_bytes"] = NumberOrNull(space.has_used_bytes(), space.used_bytes());
  json["extents"] = NumberOrNull(space.has_extent_count(), space.extent_count());
  json["freed_bytes"] = NumberOrNull(space.has_freed_bytes(), space.freed_bytes());
  json["freed_at_least"] = space.freed_at_least();
  json["waiting_bytes"] = NumberOrNull(space.has_waiting_bytes(), space.waiting_bytes());
  json["pinned_bytes"] = NumberOrNull(space.has_pinned_bytes(), space.pinned_bytes());
  json["pinned_by"] = Json::object();
  for (const auto& [holder, bytes] : std::map(space.pinned_by().begin(), space.pinned_by().end())) {
    json["pinned_by"][holder] = bytes;
  }
  json["duplicate_bytes"] = NumberOrNull(space.has_duplicate_bytes(), space.duplicate_bytes());
  json["duplicates_counted_at"] = TimeOrNull(space.has_duplicates_time(), space.duplicates_time());
  json["incomplete"] = space.incomplete();
  return json;
}

template <typename Parts>
Json PartList(const Parts& parts) {
  Json list = Json::array();
  for (const auto& part : parts) {
    Json json;
    json["name"] = part.name();
    json["volumes_total"] = part.volume_count();
    json["space"] = SpaceObject(part.space());
    list.push_back(std::move(json));
  }
  return list;
}

Json DueObject(const v1::ScheduleEntry& entry) {
  Json json;
  json["due_at"] = TimeOrNull(entry.has_due_time(), entry.due_time());
  json["policy"] = entry.policy();
  json["state"] = StateWord(entry.state());
  json["volumes_total"] = entry.volume_count();
  json["volumes"] = Json::array();
  for (const std::string& name : entry.volumes()) json["volumes"].push_back(name);
  return json;
}

Json AttentionObject(const v1::Attention& attention) {
  Json json;
  json["severity"] = SeverityWord(attention.severity());
  json["kind"] = attention.kind();
  json["text"] = attention.text();
  json["host_id"] = TextOrNull(attention.host_id());
  json["volume_uuid"] =
      attention.volume_uuid().empty() ? Json() : Json(UuidWord(attention.volume_uuid()));
  json["run_id"] = TextOrNull(attention.run_id());
  return json;
}

Json VolumeObject(const v1::Volume& volume) {
  Json json;
  json["uuid"] = volume.uuid();
  json["name"] = TextOrNull(volume.name());
  json["host_id"] = TextOrNull(volume.host_id());
  json["host_name"] = TextOrNull(volume.host_name());
  json["labels"] = Json::object();
  for (const auto& [key, value] : std::map(volume.labels().begin(), volume.labels().end())) {
    json["labels"][key] = value;
  }
  json["mount_paths"] = Json::array();
  for (const std::string& path : volume.mounted().mount_paths())
    json["mount_paths"].push_back(path);
  json["space"] = SpaceObject(volume.space());
  json["last_run"] = volume.has_last_run() ? RunObject(volume.last_run()) : Json();
  json["active_run"] = volume.has_active_run() ? RunObject(volume.active_run()) : Json();
  json["next_due_at"] = TimeOrNull(volume.has_next_due_time(), volume.next_due_time());
  json["next_policy"] = TextOrNull(volume.next_policy());
  json["connected"] = volume.connected();
  json["trouble"] = TextOrNull(volume.trouble());
  return json;
}

}  // namespace

std::string StatusJson(const v1::GetSummaryResponse& summary, const std::string& source,
                       bool is_still) {
  Json json = Object("onefold.status.v1");
  json["source"] = ReplaceNonUtf8(source);
  json["served"] = !is_still;
  json["time"] = TimeOrNull(summary.has_time(), summary.time());
  json["version"] = TextOrNull(summary.version());
  json["hosts_total"] = summary.host_count();
  json["hosts_connected"] = summary.connected_host_count();
  json["volumes_total"] = summary.volume_count();
  json["space"] = SpaceObject(summary.total());
  json["by_host"] = PartList(summary.hosts());
  json["by_label"] = PartList(summary.labels());
  json["running_total"] = summary.running_count();
  json["waiting_total"] = summary.waiting_count();
  json["active_runs"] = Json::array();
  for (const v1::Run& run : summary.active_runs()) json["active_runs"].push_back(RunObject(run));
  json["next"] = Json::array();
  for (const v1::ScheduleEntry& entry : summary.next()) json["next"].push_back(DueObject(entry));
  json["attention"] = Json::array();
  for (const v1::Attention& each : summary.attention()) {
    json["attention"].push_back(AttentionObject(each));
  }
  json["attention_total"] = summary.attention_count();
  return OneLine(json);
}

std::string VolumesJson(const std::vector<v1::Volume>& volumes) {
  Json json = Object("onefold.volumes.v1");
  json["volumes"] = Json::array();
  for (const v1::Volume& volume : volumes) json["volumes"].push_back(VolumeObject(volume));
  return OneLine(json);
}

std::string DuplicatesJson(const v1::ListDuplicatesResponse& duplicates) {
  Json json = Object("onefold.duplicates.v1");
  json["counted_at"] = TimeOrNull(duplicates.has_time(), duplicates.time());
  json["duplicate_bytes"] =
      NumberOrNull(duplicates.has_duplicate_bytes(), duplicates.duplicate_bytes());
  json["groups_total"] = NumberOrNull(duplicates.has_group_count(), duplicates.group_count());
  json["groups"] = Json::array();
  for (const v1::DuplicateGroup& group : duplicates.groups()) {
    Json entry;
    entry["digest"] = absl::StrFormat("%016x", group.digest());
    entry["extent_bytes"] = group.extent_bytes();
    entry["copies"] = group.copy_count();
    entry["duplicate_bytes"] = group.duplicate_bytes();
    json["groups"].push_back(std::move(entry));
  }
  return OneLine(json);
}

std::string OverlapJson(const v1::GetOverlapResponse& overlap) {
  Json json = Object("onefold.overlap.v1");
  const bool known = overlap.has_time();
  json["computed_at"] = TimeOrNull(known, overlap.time());
  json["volumes"] = Json::array();
  for (const auto& member : overlap.members()) {
    Json entry;
    entry["uuid"] = UuidWord(member.volume_uuid());
    entry["name"] = TextOrNull(member.name());
    entry["host_name"] = TextOrNull(member.host_name());
    entry["distinct_bytes"] = member.distinct_bytes();
    entry["shared_bytes"] = member.shared_bytes();
    json["volumes"].push_back(std::move(entry));
  }
  json["pairs"] = Json::array();
  for (const auto& pair : overlap.pairs()) {
    Json entry;
    entry["first"] = pair.first();
    entry["second"] = pair.second();
    entry["shared_bytes"] = pair.shared_bytes();
    json["pairs"].push_back(std::move(entry));
  }
  json["everywhere_bytes"] = NumberOrNull(known, overlap.everywhere_bytes());
  json["everywhere_volumes"] = NumberOrNull(known, overlap.everywhere_volume_count());
  json["mixed_checksums"] = overlap.mixed_checksums();
  json["truncated"] = overlap.truncated();
  return OneLine(json);
}

std::string HistoryJson(const v1::GetHistoryResponse& history) {
  Json json = Object("onefold.history.v1");
  json["freed_at_least"] = history.freed_at_least();
  json["points"] = Json::array();
  for (const v1::HistoryPoint& point : history.points()) {
    Json entry;
    entry["time"] = TimeOrNull(point.has_time(), point.time());
    entry["used_bytes"] = NumberOrNull(point.has_used_bytes(), point.used_bytes());
    entry["freed_bytes"] = NumberOrNull(point.has_freed_bytes(), point.freed_bytes());
    entry["waiting_bytes"] = NumberOrNull(point.has_waiting_bytes(), point.waiting_bytes());
    entry["pinned_bytes"] = NumberOrNull(point.has_pinned_bytes(), point.pinned_bytes());
    json["points"].push_back(std::move(entry));
  }
  return OneLine(json);
}

}  // namespace onefold
