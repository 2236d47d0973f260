// What people ask of a Fleet, and what they see of it.

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/fleet/limits.h"
#include "coordinator/fleet/selector.h"

namespace onefold {
namespace {

using fleet::Host;
using fleet::MaintenanceWindow;
using fleet::OwnedVolume;
using fleet::Policy;
using fleet::Selector;
using fleet::Wish;

constexpr int kVolumesShownMax = 100;

void SetTime(absl::Time time, google::protobuf::Timestamp& to) {
  to.set_seconds(absl::ToUnixSeconds(time));
  to.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(absl::ToUnixSeconds(time)))));
}

// "HOST:PATH", where HOST is an id or a name and PATH a mount point.
bool IsAtPath(const OwnedVolume& volume, absl::string_view text) {
  const size_t colon = text.find(":/");
  if (colon == text.npos) return false;
  const absl::string_view host = text.substr(0, colon);
  const absl::string_view path = text.substr(colon + 1);
  if (host != volume.host->id && host != volume.host->name) return false;
  const auto& paths = volume.volume->mounted.mount_paths();
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

bool IsCalled(const OwnedVolume& volume, absl::string_view text) {
  if (volume.volume->mounted.label() == text || IsAtPath(volume, text)) return true;
  const std::string digits = fleet::UuidDigits(text);
  return !digits.empty() &&
         absl::StartsWith(fleet::UuidDigits(ToString(volume.volume->uuid)), digits);
}

absl::Status CheckStart(const v1::StartRunsRequest& request) {
  if (request.request_id().size() > fleet::kRunIdBytesMax) {
    return absl::InvalidArgumentError("request_id is longer than 64 bytes");
  }
  if (request.volume().empty() == request.selector().empty()) {
    return absl::InvalidArgumentError("give either a volume or a selector");
  }
  return absl::OkStatus();
}

bool SameSchedule(const Policy& a, const Policy& b) {
  if (!a.schedule || !b.schedule) return !a.schedule && !b.schedule;
  return a.schedule->cron().text() == b.schedule->cron().text() && a.zone == b.zone &&
         a.jitter == b.jitter;
}

}  // namespace

// ---- hosts ----

std::vector<v1::Host> Fleet::ListHosts() const {
  const Instant now = Now();
  MutexLock lock(&mutex_);
  std::vector<v1::Host> hosts;
  for (const auto& [id, host] : books_.hosts.hosts()) hosts.push_back(ViewHost(host, now));
  std::sort(hosts.begin(), hosts.end(), [](const v1::Host& a, const v1::Host& b) {
    return std::tie(a.display_name(), a.host_id()) < std::tie(b.display_name(), b.host_id());
  });
  return hosts;
}

absl::StatusOr<v1::Host> Fleet::FindHost(absl::string_view host) const {
  const Instant now = Now();
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const Host* found, books_.hosts.Resolve(host));
  return ViewHost(*found, now);
}

absl::StatusOr<v1::Host> Fleet::SetDrained(absl::string_view host, bool drained) {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  ASSIGN_OR_RETURN(const Host* found, books_.hosts.Resolve(host));
  const std::string id = found->id;
  Changes changes;
  changes.hosts = books_.hosts.SetDrained(*found, drained);
  RETURN_IF_ERROR(Commit(std::move(changes)));
  return ViewHost(*books_.hosts.Find(id), now);
}

absl::StatusOr<v1::Host> Fleet::ForgetHost(absl::string_view host) {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  ASSIGN_OR_RETURN(const Host* found, books_.hosts.Resolve(host));
  const v1::Host view = ViewHost(*found, now);
  Changes changes;
  changes.hosts = books_.hosts.Forget(*found, now.wall);
  for (const int64_t number : books_.runs.active()) {
    const FleetRun& run = *books_.runs.Find(number);
    const fleet::Claim* claim = books_.hosts.FindClaim(run.volume);
    const bool its = claim != nullptr && claim->host_id == found->id;
    const bool works = run.state() == v1::RUN_STATE_RUNNING && run.record.host_id() == found->id;
    if (!its && !works) continue;
    FleetRun& next = changes.Edit(run);
    fleet::EndRun(next, v1::RUN_STATE_FAILED, absl::StrCat("host ", found->name, " was forgotten"),
                  now.wall);
    CountResult(run, next, Changes(), changes);
  }
  RETURN_IF_ERROR(Commit(std::move(changes)));
  return view;
}

v1::Host Fleet::ViewHost(const Host& host, Instant now) const {
  v1::Host view;
  view.set_host_id(host.id);
  view.set_display_name(host.name);
  if (fleet::IsSilent(host, Rules(), now)) {
    view.set_state(v1::Host::STATE_SILENT);
  } else {
    view.set_state(host.drained ? v1::Host::STATE_DRAINED : v1::Host::STATE_CONNECTED);
  }
  view.set_drained(host.drained);
  view.set_version(host.version);
  view.mutable_labels()->insert(host.labels.begin(), host.labels.end());
  for (const fleet::HostVolume& volume : host.volumes) *view.add_volumes() = volume.mounted;
  SetTime(host.last_seen, *view.mutable_last_seen_time());
  for (std::string& sentence : books_.hosts.Advice(host, now.wall - absl::Hours(24 * 7))) {
    view.add_advice(std::move(sentence));
  }
  return view;
}

// ---- policies ----

absl::StatusOr<v1::ApplyPoliciesResponse> Fleet::ApplyPolicies(absl::string_view yaml,
                                                               bool dry_run) {
  ASSIGN_OR_RETURN(std::vector<Policy> policies, fleet::ParsePolicies(yaml, options_.time_zone));
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const absl::Time now = clock_.Now();
  const std::vector<OwnedVolume> volumes = books_.hosts.OwnedVolumes();
  v1::ApplyPoliciesResponse response;
  Changes changes;
  size_t count = books_.policies.size();
  for (Policy& parsed : policies) {
    const auto policy = std::make_shared<const Policy>(std::move(parsed));
    const auto known = books_.policies.find(policy->name);
    const Policy* before = known == books_.policies.end() ? nullptr : known->second.get();
    const std::string old_yaml = before == nullptr ? "" : fleet::CanonicalYaml(*before);
    const std::string new_yaml = fleet::CanonicalYaml(*policy);
    v1::ApplyPoliciesResponse::Change& change = *response.add_changes();
    change.set_name(policy->name);
    change.set_kind(before == nullptr      ? v1::ApplyPoliciesResponse::Change::KIND_CREATED
                    : old_yaml == new_yaml ? v1::ApplyPoliciesResponse::Change::KIND_UNCHANGED
                                           : v1::ApplyPoliciesResponse::Change::KIND_CHANGED);
    change.set_diff(fleet::DiffLines(old_yaml, new_yaml));
    if (before == nullptr) ++count;
    // A new schedule owes nothing for the past.
    const bool counts_anew = before == nullptr || !SameSchedule(*before, *policy);
    for (const OwnedVolume& volume : volumes) {
      if (!policy->Selects(volume.Subject())) continue;
      if (change.selected_volumes_size() < kVolumesShownMax) {
        change.add_selected_volumes(absl::StrCat(volume.host->name, ": ", volume.volume->Name()));
      }
      if (policy->schedule && counts_anew) {
        changes.answered[{policy->name, volume.volume->uuid}] = now;
      }
    }
    if (old_yaml == new_yaml) continue;
    changes.policies[policy->name] = policy;
    // Windows, limits and priority count at once, for what is under way too.
    for (const int64_t number : books_.runs.active()) {
      const FleetRun& run = *books_.runs.Find(number);
      if (run.rules == nullptr || run.rules->name != policy->name) continue;
      FleetRun& next = changes.Edit(run);
      next.rules = policy;
      next.record.set_rules_yaml(new_yaml);
    }
  }
  if (count > fleet::kPoliciesMax) {
    return absl::InvalidArgumentError("there would be more than 1000 policies; delete some");
  }
  if (dry_run) return response;
  RETURN_IF_ERROR(Commit(std::move(changes)));
  return response;
}

std::vector<v1::Policy> Fleet::ListPolicies() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(&mutex_);
  const std::vector<OwnedVolume> volumes = books_.hosts.OwnedVolumes();
  std::vector<v1::Policy> views;
  for (const auto& [name, policy] : books_.policies) {
    v1::Policy& view = views.emplace_back();
    view.set_name(name);
    view.set_yaml(fleet::CanonicalYaml(*policy));
    view.set_volume_count(static_cast<int32_t>(std::count_if(
        volumes.begin(), volumes.end(), [&policy = policy](const OwnedVolume& volume) {
          return policy->Selects(volume.Subject());
        })));
    if (policy->schedule) SetTime(policy->schedule->NextAfter(now), *view.mutable_next_due_time());
  }
  return views;
}

absl::Status Fleet::DeletePolicy(absl::string_view name) {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const auto found = books_.policies.find(name);
  if (found == books_.policies.end()) {
    return absl::NotFoundError(
        absl::StrCat("there is no policy \"", name, "\"; `onefold policy list` shows them"));
  }
  Changes changes;
  changes.policies[found->first] = nullptr;
  for (auto due = books_.answered.lower_bound({found->first, VolumeUuid{}});
       due != books_.answered.end() && due->first.first == found->first; ++due) {
    changes.answered[due->first] = std::nullopt;
  }
  return Commit(std::move(changes));
}

// ---- runs ----

absl::StatusOr<std::vector<OwnedVolume>> Fleet::Select(const v1::StartRunsRequest& request) const {
  std::vector<OwnedVolume> selected = books_.hosts.OwnedVolumes();
  const std::string& what = request.volume().empty() ? request.selector() : request.volume();
  if (!request.selector().empty()) {
    ASSIGN_OR_RETURN(const Selector selector, Selector::Parse(request.selector()));
    std::erase_if(selected,
                  [&](const OwnedVolume& volume) { return !selector.Matches(volume.Subject()); });
  } else {
    std::erase_if(selected,
                  [&](const OwnedVolume& volume) { return !IsCalled(volume, request.volume()); });
    if (selected.size() > 1) {
      std::string names;
      for (const OwnedVolume& volume : selected) {
        absl::StrAppend(&names, names.empty() ? "" : ", ", ToString(volume.volume->uuid), " on ",
                        volume.host->name);
        if (names.size() > 500) break;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("\"", what, "\" may be any of ", names, ": name it by its uuid"));
    }
  }
  if (selected.empty()) {
    return absl::NotFoundError(absl::StrCat("\"", what,
                                            "\" is no mounted volume of this fleet; `onefold fleet "
                                            "list` shows them"));
  }
  return selected;
}

std::shared_ptr<const Policy> Fleet::RulesByHand(const OwnedVolume& volume) const {
  std::shared_ptr<const Policy> best;
  for (const auto& [name, policy] : books_.policies) {
    if (!policy->Selects(volume.Subject())) continue;
    if (best == nullptr || policy->priority > best->priority) best = policy;
  }
  return best;
}

void Fleet::StageStart(const OwnedVolume& volume, const v1::StartRunsRequest& request,
                       absl::Time now, Changes& changes, std::vector<int64_t>& started) {
  const FleetRun* under_way = nullptr;
  for (const FleetRun* run : books_.runs.ActiveOn(volume.volume->uuid)) {
    const bool fits = run->record.dry_run() == request.dry_run() && !request.full();
    if (run->state() == v1::RUN_STATE_RUNNING || (under_way == nullptr && fits)) under_way = run;
  }
  if (under_way == nullptr) {
    FleetRun& run = AddRun(volume, RulesByHand(volume), now, changes);
    run.record.set_by_hand(true);
    run.record.set_dry_run(request.dry_run());
    run.record.set_full(request.full());
    run.record.set_request_id(request.request_id());
    started.push_back(run.number);
    return;
  }
  started.push_back(under_way->number);
  if (under_way->state() != v1::RUN_STATE_WAITING || under_way->record.by_hand()) return;
  changes.Edit(*under_way).record.set_by_hand(true);  // now means now
}

absl::StatusOr<v1::StartRunsResponse> Fleet::StartRuns(const v1::StartRunsRequest& request) {
  RETURN_IF_ERROR(CheckStart(request));
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  v1::StartRunsResponse response;
  const std::vector<const FleetRun*> before = books_.runs.ByRequest(request.request_id());
  for (const FleetRun* run : before) *response.add_runs() = ViewRun(*run, now);
  if (!before.empty()) return response;

  ASSIGN_OR_RETURN(const std::vector<OwnedVolume> selected, Select(request));
  Changes changes;
  std::vector<int64_t> started;
  for (const OwnedVolume& volume : selected) {
    std::string refusal = books_.hosts.Refusal(volume);
    if (refusal.empty()) {
      StageStart(volume, request, now.wall, changes, started);
    } else {
      response.add_refused(std::move(refusal));
    }
  }
  RETURN_IF_ERROR(Commit(std::move(changes)));
  // They are there whatever becomes of this; the next tick gives out slots again.
  GiveSlots(now).IgnoreError();
  for (const int64_t number : started) {
    *response.add_runs() = ViewRun(*books_.runs.Find(number), now);
  }
  return response;
}

absl::StatusOr<v1::Run> Fleet::CancelRun(absl::string_view run_id) {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  ASSIGN_OR_RETURN(const FleetRun* run, books_.runs.Resolve(run_id));
  const int64_t number = run->number;
  if (!run->ended()) {
    Changes changes;
    FleetRun& next = changes.Edit(*run);
    if (run->state() == v1::RUN_STATE_RUNNING) {
      next.set_wish(Wish::kCancel);
    } else {
      fleet::EndRun(next, v1::RUN_STATE_CANCELLED, "cancelled", now.wall);
      CountResult(*run, next, Changes(), changes);
    }
    RETURN_IF_ERROR(Commit(std::move(changes)));
  }
  return ViewRun(*books_.runs.Find(number), now);
}

absl::StatusOr<v1::Run> Fleet::PauseRun(absl::string_view run_id) {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  ASSIGN_OR_RETURN(const FleetRun* run, books_.runs.Resolve(run_id));
  const int64_t number = run->number;
  if (run->ended() || run->wish() == Wish::kCancel) {
    return absl::FailedPreconditionError(absl::StrCat("run ", run->id(), " has ended"));
  }
  if (run->wish() != Wish::kPause) {
    Changes changes;
    FleetRun& next = changes.Edit(*run);
    next.set_wish(Wish::kPause);
    next.waits_for.clear();
    if (run->state() == v1::RUN_STATE_WAITING) next.set_state(v1::RUN_STATE_PAUSED);
    RETURN_IF_ERROR(Commit(std::move(changes)));
  }
  return ViewRun(*books_.runs.Find(number), now);
}

absl::StatusOr<v1::Run> Fleet::ResumeRun(absl::string_view run_id) {
  MutexLock lock(&mutex_);
  const Turn turn(*this);
  const Instant now = Now();
  ASSIGN_OR_RETURN(const FleetRun* run, books_.runs.Resolve(run_id));
  const int64_t number = run->number;
  if (run->ended() || run->wish() == Wish::kCancel) {
    return absl::FailedPreconditionError(absl::StrCat("run ", run->id(), " has ended"));
  }
  if (run->wish() == Wish::kPause) {
    Changes changes;
    FleetRun& next = changes.Edit(*run);
    next.set_wish(Wish::kNone);
    if (run->state() == v1::RUN_STATE_PAUSED) next.set_state(v1::RUN_STATE_WAITING);
    RETURN_IF_ERROR(Commit(std::move(changes)));
    GiveSlots(now).IgnoreError();
  }
  return ViewRun(*books_.runs.Find(number), now);
}

absl::StatusOr<v1::Run> Fleet::FindRun(absl::string_view run_id) const {
  const Instant now = Now();
  MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const FleetRun* run, books_.runs.Resolve(run_id));
  return ViewRun(*run, now);
}

std::vector<Fleet::NumberedRun> Fleet::ListRuns(int64_t before, size_t count,
                                                bool active_only) const {
  const Instant now = Now();
  MutexLock lock(&mutex_);
  std::vector<NumberedRun> listed;
  const auto list = [&](int64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (before > 0 && number >= before) return;
    if (listed.size() < count) {
      listed.push_back({.number = number, .run = ViewRun(*books_.runs.Find(number), now)});
    }
  };
  const std::set<int64_t>& active = books_.runs.active();
  const auto& runs = books_.runs.runs();
  if (active_only) {
    for (auto at = active.rbegin(); at != active.rend(); ++at) list(*at);
  } else {
    for (auto at = runs.rbegin(); at != runs.rend(); ++at) list(at->first);
  }
  return listed;
}

storage::v1::FleetTotals Fleet::Totals() const {
  MutexLock lock(&mutex_);
  return books_.totals;
}

v1::Run Fleet::ViewRun(const FleetRun& run, Instant now) const {
  v1::Run view;
  const storage::v1::FleetRunRecord& record = run.record;
  view.set_run_id(run.id());
  view.set_volume_uuid(record.volume_uuid());
  view.set_volume_name(record.volume_name());
  view.set_policy(record.policy());
  view.set_state(run.state());
  view.set_dry_run(record.dry_run());
  view.set_waits_for(run.waits_for);
  if (run.state() == v1::RUN_STATE_RUNNING) {
    view.set_host_id(record.host_id());
    const std::string stop = fleet::StopReason(run, books_.hosts, now);
    if (!stop.empty()) {
      view.set_waits_for(absl::StrCat("the worker to stop: ", stop));
    } else if (run.live.state() == v1::RUN_STATE_UNSPECIFIED) {
      view.set_state(v1::RUN_STATE_WAITING);  // until the worker has it
      view.set_waits_for("its host to call");
    }
  } else if (run.ended()) {
    view.set_host_id(record.start_unix_seconds() != 0 ? record.host_id() : "");
  }
  SetTime(absl::FromUnixSeconds(record.create_unix_seconds()), *view.mutable_create_time());
  if (record.start_unix_seconds() != 0) {
    SetTime(absl::FromUnixSeconds(record.start_unix_seconds()), *view.mutable_start_time());
  }
  if (record.end_unix_seconds() != 0) {
    SetTime(absl::FromUnixSeconds(record.end_unix_seconds()), *view.mutable_end_time());
  }
  *view.mutable_status() = run.live;
  view.mutable_status()->set_run_id(run.id());
  if (record.has_expected_bytes()) view.set_expected_bytes(record.expected_bytes());
  return view;
}

}  // namespace onefold
