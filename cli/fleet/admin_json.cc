#include "cli/fleet/admin_json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "cli/fleet/admin_words.h"
#include "cli/fleet/json_pieces.h"
#include "cli/fleet/run_object.h"
#include "common/escape.h"

namespace onefold {
namespace {

using Json = nlohmann::ordered_json;

template <typename Texts>
Json List(const Texts& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

// In the order of the keys: a map on the wire has none.
template <typename Map>
Json SortedObject(const Map& map) {
  Json object = Json::object();
  for (const auto& [key, value] : std::map(map.begin(), map.end())) object[key] = value;
  return object;
}

double Milli(double value) { return std::isfinite(value) ? std::round(value * 1000) / 1000 : 0; }

Json VolumeObject(const v1::MountedVolume& volume) {
  Json json;
  json["uuid"] = UuidWord(volume.volume_uuid());
  json["label"] = TextOrNull(volume.label());
  json["mount_paths"] = List(volume.mount_paths());
  json["allowed_roots"] = List(volume.allowed_roots());
  json["size_bytes"] = volume.size_bytes();
  json["used_bytes"] = volume.used_bytes();
  json["trouble"] = TextOrNull(volume.trouble());
  json["duplicate_uuid"] = volume.duplicate_uuid();
  return json;
}

Json HostObject(const v1::Host& host) {
  Json json;
  json["host_id"] = host.host_id();
  json["display_name"] = host.display_name();
  json["state"] = StateWord(host.state());
  json["drained"] = host.drained();
  json["version"] = TextOrNull(host.version());
  json["labels"] = SortedObject(host.labels());
  json["volumes"] = Json::array();
  for (const v1::MountedVolume& volume : host.volumes()) {
    json["volumes"].push_back(VolumeObject(volume));
  }
  json["last_seen_at"] = TimeOrNull(host.has_last_seen_time(), host.last_seen_time());
  json["certificate_expires_at"] =
      TimeOrNull(host.has_certificate_expire_time(), host.certificate_expire_time());
  json["advice"] = List(host.advice());
  return json;
}

Json PolicyObject(const v1::Policy& policy) {
  Json json;
  json["name"] = policy.name();
  json["yaml"] = policy.yaml();
  json["volume_count"] = policy.volume_count();
  json["next_due_at"] = TimeOrNull(policy.has_next_due_time(), policy.next_due_time());
  return json;
}

Json FiguresObject(const v1::RunFigures& figures) {
  Json json;
  const auto add = [&](const char* name, bool has, int64_t value) {
    json[name] = has ? Json(value) : Json();
  };
  add("extents_total", figures.has_extents_total(), figures.extents_total());
  add("extents_scanned", figures.has_extents_scanned(), figures.extents_scanned());
  add("bytes_scanned", figures.has_bytes_scanned(), figures.bytes_scanned());
  add("file_bytes_read", figures.has_file_bytes_read(), figures.file_bytes_read());
  add("dedupe_requests", figures.has_dedupe_requests(), figures.dedupe_requests());
  add("bytes_shared", figures.has_bytes_shared(), figures.bytes_shared());
  add("bytes_freed", figures.has_bytes_freed(), figures.bytes_freed());
  add("bytes_written", figures.has_bytes_written(), figures.bytes_written());
  add("bytes_pinned", figures.has_bytes_pinned(), figures.bytes_pinned());
  json["pinned_by"] = SortedObject(figures.pinned_by());
  add("metadata_bytes_grown", figures.has_metadata_bytes_grown(), figures.metadata_bytes_grown());
  json["skipped"] = SortedObject(figures.skipped());
  add("bytes_expected", figures.has_bytes_expected(), figures.bytes_expected());
  return json;
}

Json ProblemObject(const v1::RunProblem& problem) {
  Json json;
  json["reason"] = problem.reason();
  json["path"] = ReplaceNonUtf8(problem.path());
  if (!IsUtf8(problem.path())) json["path_bytes"] = absl::BytesToHexString(problem.path());
  json["detail"] = problem.detail();
  return json;
}

Json StatusObject(const v1::RunStatus& status) {
  Json json;
  json["phase"] = PhaseWord(status.phase());
  json["phase_fraction"] = Milli(status.phase_fraction());
  json["message"] = TextOrNull(status.message());
  json["throttled_by"] = TextOrNull(status.throttled_by());
  json["elapsed_seconds"] = status.has_elapsed()
                                ? Json(Milli(absl::ToDoubleSeconds(DurationOf(status.elapsed()))))
                                : Json();
  json["figures"] = FiguresObject(status.figures());
  json["problems"] = Json::array();
  for (const v1::RunProblem& problem : status.problems()) {
    json["problems"].push_back(ProblemObject(problem));
  }
  json["problems_total"] = status.problem_count();
  return json;
}

Json UserObject(const v1::User& user) {
  Json json;
  json["name"] = ReplaceNonUtf8(user.name());
  json["role"] = RoleWord(user.role());
  json["expires_at"] =
      TimeOrNull(user.has_certificate_expire_time(), user.certificate_expire_time());
  return json;
}

}  // namespace

Json RunObject(const v1::Run& run) {
  Json json;
  json["run_id"] = run.run_id();
  json["volume_uuid"] = UuidWord(run.volume_uuid());
  json["volume_name"] = run.volume_name();
  json["host_id"] = TextOrNull(run.host_id());
  json["policy"] = TextOrNull(run.policy());
  json["state"] = StateWord(run.state());
  json["dry_run"] = run.dry_run();
  json["waits_for"] = TextOrNull(run.waits_for());
  json["created_at"] = TimeOrNull(run.has_create_time(), run.create_time());
  json["started_at"] = TimeOrNull(run.has_start_time(), run.start_time());
  json["ended_at"] = TimeOrNull(run.has_end_time(), run.end_time());
  json["expected_bytes"] = run.has_expected_bytes() ? Json(run.expected_bytes()) : Json();
  json["status"] = run.has_status() ? StatusObject(run.status()) : Json();
  return json;
}

std::string HostsJson(const std::vector<v1::Host>& hosts) {
  Json json = Object("onefold.hosts.v1");
  json["hosts"] = Json::array();
  for (const v1::Host& host : hosts) json["hosts"].push_back(HostObject(host));
  return OneLine(json);
}

std::string HostJson(const v1::Host& host, bool done) {
  Json json = Object("onefold.host.v1");
  json["done"] = done;
  json["host"] = HostObject(host);
  return OneLine(json);
}

std::string JoinTokenJson(const v1::CreateJoinTokenResponse& token, absl::string_view join) {
  Json json = Object("onefold.join_token.v1");
  json["token"] = token.token();
  json["address"] = TextOrNull(token.address());
  json["join"] = TextOrNull(join);
  json["expires_at"] = TimeOrNull(token.has_expire_time(), token.expire_time());
  return OneLine(json);
}

std::string UserJson(absl::string_view name, v1::UserRole role, absl::string_view bundle_path,
                     absl::string_view coordinator, absl::string_view sign_in_link,
                     const v1::CreateUserResponse& user) {
  Json json = Object("onefold.user.v1");
  json["name"] = std::string(name);
  json["role"] = RoleWord(role);
  json["bundle"] = TextOrNull(ReplaceNonUtf8(bundle_path));
  json["coordinator"] = TextOrNull(coordinator);
  json["sign_in"] = TextOrNull(sign_in_link);
  json["expires_at"] = TimeOrNull(user.has_expire_time(), user.expire_time());
  return OneLine(json);
}

std::string SignInJson(absl::string_view name, absl::string_view link,
                       const v1::CreateSignInResponse& sign_in) {
  Json json = Object("onefold.sign_in.v1");
  json["name"] = std::string(name);
  json["link"] = TextOrNull(link);
  json["expires_at"] = TimeOrNull(sign_in.has_expire_time(), sign_in.expire_time());
  return OneLine(json);
}

std::string UsersJson(const std::vector<v1::User>& users) {
  Json json = Object("onefold.users.v1");
  json["users"] = Json::array();
  for (const v1::User& user : users) json["users"].push_back(UserObject(user));
  return OneLine(json);
}

std::string RemovedUserJson(const v1::User& user, bool removed) {
  Json json = Object("onefold.user_removal.v1");
  json["removed"] = removed;
  json["user"] = UserObject(user);
  return OneLine(json);
}

std::string PoliciesJson(const std::vector<v1::Policy>& policies) {
  Json json = Object("onefold.policies.v1");
  json["policies"] = Json::array();
  for (const v1::Policy& policy : policies) json["policies"].push_back(PolicyObject(policy));
  return OneLine(json);
}

std::string PolicyJson(const v1::Policy& policy, bool deleted) {
  Json json = Object("onefold.policy.v1");
  json["deleted"] = deleted;
  json["policy"] = PolicyObject(policy);
  return OneLine(json);
}

std::string PolicyChangesJson(const v1::ApplyPoliciesResponse& changes, bool applied) {
  Json json = Object("onefold.policy_changes.v1");
  json["applied"] = applied;
  json["changes"] = Json::array();
  for (const auto& change : changes.changes()) {
    Json entry;
    entry["name"] = change.name();
    entry["kind"] = KindWord(change.kind());
    entry["diff"] = change.diff();
    entry["selected_volumes"] = List(change.selected_volumes());
    json["changes"].push_back(std::move(entry));
  }
  return OneLine(json);
}

std::string RunsJson(const std::vector<v1::Run>& runs, const std::vector<std::string>& refused) {
  Json json = Object("onefold.runs.v1");
  json["runs"] = Json::array();
  for (const v1::Run& run : runs) json["runs"].push_back(RunObject(run));
  json["refused"] = List(refused);
  return OneLine(json);
}

std::string RunStateJson(const v1::Run& run) {
  Json json = Object("onefold.run_state.v1");
  json["run"] = RunObject(run);
  return OneLine(json);
}

std::string ErrorJson(const absl::Status& status) {
  Json json = Object("onefold.error.v1");
  json["code"] = absl::StatusCodeToString(status.code());
  json["message"] = ReplaceNonUtf8(status.message());
  return OneLine(json);
}

}  // namespace onefold
