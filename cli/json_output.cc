#include "cli/json_output.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/escape.h"

namespace onefold {
namespace {

using Json = nlohmann::ordered_json;

// For bytes that anybody may have chosen.
void AddRawText(Json& object, const std::string& key, absl::string_view bytes) {
  if (IsUtf8(bytes)) {
    object[key] = std::string(bytes);
    return;
  }
  object[key] = ReplaceNonUtf8(bytes);
  object[absl::StrCat(key, "_bytes")] = absl::BytesToHexString(bytes);
}

// In milliseconds, as a number of seconds.
double Seconds(double seconds) { return std::round(seconds * 1000) / 1000; }
double Seconds(absl::Duration duration) { return Seconds(absl::ToDoubleSeconds(duration)); }

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json();
}

std::string OneLine(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Json Map(const std::map<std::string, int64_t>& map) {
  Json object = Json::object();
  for (const auto& [key, value] : map) object[key] = value;
  return object;
}

void AddCounters(Json& object, const RunCounters& counters) {
  object["extents_total"] = OrNull(counters.extents_total);
  object["extents_scanned"] = OrNull(counters.extents_scanned);
  object["bytes_scanned"] = OrNull(counters.bytes_scanned);
  object["file_bytes_read"] = OrNull(counters.file_bytes_read);
  object["dedupe_requests"] = OrNull(counters.dedupe_requests);
  object["bytes_shared"] = OrNull(counters.bytes_shared);
  object["bytes_freed"] = OrNull(counters.bytes_freed);
  object["bytes_freeable"] = OrNull(counters.bytes_freeable);
  object["bytes_shareable"] = OrNull(counters.bytes_shareable);
  object["bytes_written"] = OrNull(counters.bytes_written);
  object["bytes_relocatable"] = OrNull(counters.bytes_relocatable);
  object["bytes_pinned"] = OrNull(counters.bytes_pinned);
  object["pinned_by"] = Map(counters.pinned_by);
  object["metadata_bytes_grown"] = OrNull(counters.metadata_bytes_grown);
  object["skipped"] = Map(counters.skipped);
}

Json Problems(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& problem : problems) {
    Json entry;
    entry["reason"] = problem.reason;
    AddRawText(entry, "path", problem.path);
    AddRawText(entry, "detail", problem.detail);
    list.push_back(std::move(entry));
  }
  return list;
}

Json Phases(double scan, double plan, double execute) {
  Json phases;
  phases["scan_seconds"] = Seconds(scan);
  phases["plan_seconds"] = Seconds(plan);
  phases["execute_seconds"] = Seconds(execute);
  return phases;
}

Json Volume(const VolumeReport& volume) {
  Json json;
  json["uuid"] = volume.uuid;
  AddRawText(json, "mount", volume.mount);
  json["incremental"] = volume.incremental;
  json["walked"] = volume.walked;
  json["phases"] = Phases(volume.scan_seconds, volume.plan_seconds, volume.execute_seconds);
  AddCounters(json, volume.counters);
  json["excluded"] = Json::array();
  for (const auto& [pattern, bytes] : volume.excluded_bytes) {
    Json entry;
    AddRawText(entry, "pattern", pattern);
    entry["bytes"] = bytes;
    json["excluded"].push_back(std::move(entry));
  }
  json["examples"] = Json::array();
  for (const Example& example : volume.examples) {
    Json entry;
    AddRawText(entry, "source", example.source);
    AddRawText(entry, "destination", example.destination);
    entry["bytes"] = example.bytes;
    json["examples"].push_back(std::move(entry));
  }
  // What is left out of a walk is not known.
  json["size_excluded_bytes"] = volume.walked ? Json() : Json(volume.size_excluded_bytes);
  json["undecided_bytes"] = OrNull(volume.undecided_bytes);
  json["stopped_because"] = Json();
  if (!volume.stopped_because.empty()) AddRawText(json, "stopped_because", volume.stopped_because);
  json["problems"] = Problems(volume.problems);
  json["problems_total"] = volume.problems_total;
  return json;
}

}  // namespace

std::string RunJson(const RunSummary& summary) {
  const RunReport& report = summary.report;
  Json json;
  json["schema"] = "onefold.run.v1";
  json["run_id"] = report.run_id;
  json["outcome"] = OutcomeName(report.outcome);
  if (report.outcome == RunOutcome::kRefused) AddRawText(json, "message", summary.message);
  json["dry_run"] = report.dry_run;
  json["started_at"] =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", report.started_at, absl::UTCTimeZone());
  json["elapsed_seconds"] = Seconds(report.elapsed);
  double scan = 0;
  double plan = 0;
  double execute = 0;
  for (const VolumeReport& volume : report.volumes) {
    scan += volume.scan_seconds;
    plan += volume.plan_seconds;
    execute += volume.execute_seconds;
  }
  json["phases"] = Phases(scan, plan, execute);
  json["volumes"] = Json::array();
  for (const VolumeReport& volume : report.volumes) json["volumes"].push_back(Volume(volume));
  json["totals"] = Json::object();
  AddCounters(json["totals"], Totals(report));
  json["problems"] = Problems(report.problems);
  json["problems_total"] = ProblemCount(report);
  json["foreign_mounts"] = report.foreign_mounts;
  json["foreign_btrfs"] = Json::array();
  for (const std::string& point : report.foreign_btrfs) {
    Json entry;
    AddRawText(entry, "mount", point);
    json["foreign_btrfs"].push_back(std::move(entry));
  }
  json["warnings"] = Json::array();
  for (const std::string& warning : summary.warnings) {
    json["warnings"].push_back(ReplaceNonUtf8(warning));
  }
  json["lifetime"] = Json();
  if (summary.lifetime.has_value()) {
    json["lifetime"]["bytes_freed"] = summary.lifetime->bytes;
    json["lifetime"]["at_least"] = summary.lifetime->at_least;
  }
  return OneLine(json);
}

std::string ProgressJson(const ProgressView& view) {
  const bool measured = view.total_bytes > 0;
  Json json;
  json["schema"] = "onefold.progress.v1";
  json["elapsed_seconds"] = Seconds(view.elapsed);
  json["phase"] = PhaseName(view.now.phase);
  json["volume_index"] = view.now.volume_index;
  json["volume_count"] = view.now.volume_count;
  AddRawText(json, "mount", view.now.volume);
  json["done_bytes"] = measured ? Json(view.done_bytes) : Json();
  json["total_bytes"] = measured ? Json(view.total_bytes) : Json();
  json["bytes_per_second"] = OrNull(view.bytes_per_second);
  json["seconds_left"] = view.left.has_value() ? Json(Seconds(*view.left)) : Json();
  json["more_follows"] = view.more_follows;
  json["bytes_freed_about"] = view.now.moved_bytes;
  json["extents_scanned"] = view.now.extents_scanned;
  json["dedupe_requests"] = view.now.dedupe_requests;
  json["file_bytes_read"] = view.now.file_bytes_read;
  return OneLine(json);
}

std::string MessageJson(absl::string_view text) {
  Json json;
  json["schema"] = "onefold.message.v1";
  AddRawText(json, "text", text);
  return OneLine(json);
}

}  // namespace onefold
