#include "coordinator/query/fleet_view.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "coordinator/fleet/jitter.h"

namespace onefold::query {
namespace {

using fleet::FleetRun;
using fleet::OwnedVolume;
using fleet::Policy;
using v1::SpaceFigures;

constexpr int kActiveRunsShown = 20;
constexpr size_t kNextShown = 10;
constexpr int kAttentionShown = 50;
constexpr int kVolumesNamed = 20;
constexpr int kRunsNamed = 100;
constexpr int kEntriesMax = 2000;
constexpr absl::Duration kBackMax = absl::Hours(24 * 400);
constexpr absl::Duration kSpanMax = absl::Hours(24 * 60);
constexpr absl::Duration kSpanDefault = absl::Hours(24 * 7);
// Certificates are renewed by themselves a month before; less is left when that does not work.
constexpr absl::Duration kCertificateWarning = absl::Hours(24 * 14);

template <typename Part>
void AddKnown(const SpaceFigures& part, bool (SpaceFigures::*has)() const,
              int64_t (SpaceFigures::*get)() const, void (SpaceFigures::*set)(Part),
              SpaceFigures& sum, bool& missing) {
  if (!(part.*has)()) {
    missing = true;
    return;
  }
  (sum.*set)((sum.*get)() + (part.*get)());
}

void AddSpace(const SpaceFigures& part, SpaceFigures& sum) {
  bool missing = false;
  using F = SpaceFigures;
  AddKnown(part, &F::has_size_bytes, &F::size_bytes, &F::set_size_bytes, sum, missing);
  AddKnown(part, &F::has_used_bytes, &F::used_bytes, &F::set_used_bytes, sum, missing);
  AddKnown(part, &F::has_extent_count, &F::extent_count, &F::set_extent_count, sum, missing);
  AddKnown(part, &F::has_freed_bytes, &F::freed_bytes, &F::set_freed_bytes, sum, missing);
  AddKnown(part, &F::has_waiting_bytes, &F::waiting_bytes, &F::set_waiting_bytes, sum, missing);
  AddKnown(part, &F::has_pinned_bytes, &F::pinned_bytes, &F::set_pinned_bytes, sum, missing);
  AddKnown(part, &F::has_duplicate_bytes, &F::duplicate_bytes, &F::set_duplicate_bytes, sum,
           missing);
  for (const auto& [holder, bytes] : part.pinned_by()) (*sum.mutable_pinned_by())[holder] += bytes;
  if (part.has_duplicates_time()) *sum.mutable_duplicates_time() = part.duplicates_time();
  if (part.freed_at_least()) sum.set_freed_at_least(true);
  if (missing) sum.set_incomplete(true);
}

bool IsCalled(const v1::Volume& volume, absl::string_view name) {
  if (volume.mounted().label() == name || volume.uuid() == name) return true;
  for (const std::string& path : volume.mounted().mount_paths()) {
    if (name == absl::StrCat(volume.host_name(), ":", path) ||
        name == absl::StrCat(volume.host_id(), ":", path)) {
      return true;
    }
  }
  const std::string digits = fleet::UuidDigits(name);
  return digits.size() >= 8 && absl::StartsWith(fleet::UuidDigits(volume.uuid()), digits);
}

v1::Attention MakeAttention(v1::Attention::Severity severity, absl::string_view kind,
                            std::string text) {
  v1::Attention attention;
  attention.set_severity(severity);
  attention.set_kind(std::string(kind));
  attention.set_text(std::move(text));
  return attention;
}

}  // namespace

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  return timestamp;
}

absl::Time FromTimestamp(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

std::string StateWord(v1::RunState state) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::RunState_Name(state), "RUN_STATE_"));
}

FleetView::FleetView(const Fleet::Glance& glance, FiguresOf figures_of, const Census* census)
    : glance_(glance), census_(census) {
  if (census != nullptr) {
    for (const Census::VolumeCount& count : census->volumes) counted_[count.uuid] = &count;
  }
  for (const auto& [number, run] : glance.books().runs.runs()) {
    if (!run.ended()) {
      active_.try_emplace(run.volume, &run);
      continue;
    }
    ended_[run.volume] = &run;
    if (run.record.result().has_bytes_pinned()) measured_[run.volume] = &run;
  }
  for (const OwnedVolume& owned : glance.books().hosts.OwnedVolumes()) {
    volumes_.push_back(ViewVolume(owned, figures_of));
  }
  std::sort(volumes_.begin(), volumes_.end(), [](const v1::Volume& a, const v1::Volume& b) {
    return std::tie(a.name(), a.uuid()) < std::tie(b.name(), b.uuid());
  });
}

void FleetView::FillSpace(const VolumeUuid& uuid, FiguresOf figures_of, SpaceFigures& space) const {
  const auto& totals = glance_.books().volume_totals;
  // No run at all: then nothing was freed, and that is known.
  const auto freed = totals.find(uuid);
  space.set_freed_bytes(freed == totals.end() ? 0 : freed->second.freed_bytes());
  space.set_freed_at_least(freed != totals.end() && freed->second.incomplete());
  if (const auto figures = figures_of(uuid)) space.set_extent_count(figures->extent_count);
  if (const auto waiting = glance_.WaitingBytes(uuid)) space.set_waiting_bytes(*waiting);
  if (const auto run = measured_.find(uuid); run != measured_.end()) {
    const auto& result = run->second->record.result();
    space.set_pinned_bytes(result.bytes_pinned());
    *space.mutable_pinned_by() = result.pinned_by();
  }
  if (const auto count = counted_.find(uuid); count != counted_.end()) {
    space.set_duplicate_bytes(count->second->duplicate_bytes);
    *space.mutable_duplicates_time() = ToTimestamp(census_->time);
  }
}

FleetView::Due FleetView::NextDue(const OwnedVolume& owned) const {
  Due next;
  const fleet::Books& books = glance_.books();
  for (const auto& [name, policy] : books.policies) {
    if (!policy->schedule || !policy->Selects(owned.Subject())) continue;
    const absl::Duration later =
        fleet::JitterOf(glance_.jitter_seed(), name, owned.volume->uuid, policy->jitter);
    const auto answered = books.answered.find({name, owned.volume->uuid});
    const absl::Time from = answered == books.answered.end()
                                ? glance_.now()
                                : std::min(answered->second, glance_.now());
    const absl::Time due = policy->schedule->NextAfter(from - later) + later;
    if (due < next.time) next = {.time = due, .policy = name};
  }
  return next;
}

v1::Volume FleetView::ViewVolume(const OwnedVolume& owned, FiguresOf figures_of) const {
  v1::Volume view;
  const VolumeUuid& uuid = owned.volume->uuid;
  view.set_volume_uuid(ToBytes(uuid));
  view.set_uuid(ToString(uuid));
  view.set_name(owned.volume->Name());
  view.set_host_id(owned.host->id);
  view.set_host_name(owned.host->name);
  view.mutable_labels()->insert(owned.host->labels.begin(), owned.host->labels.end());
  *view.mutable_mounted() = owned.volume->mounted;
  SpaceFigures& space = *view.mutable_space();
  if (owned.volume->mounted.size_bytes() > 0) {
    space.set_size_bytes(owned.volume->mounted.size_bytes());
    space.set_used_bytes(owned.volume->mounted.used_bytes());
  }
  FillSpace(uuid, figures_of, space);
  if (const auto run = ended_.find(uuid); run != ended_.end()) {
    *view.mutable_last_run() = glance_.View(*run->second);
  }
  if (const auto run = active_.find(uuid); run != active_.end()) {
    *view.mutable_active_run() = glance_.View(*run->second);
  }
  if (const Due due = NextDue(owned); due.time != absl::InfiniteFuture()) {
    *view.mutable_next_due_time() = ToTimestamp(due.time);
    view.set_next_policy(due.policy);
  }
  view.set_connected(!glance_.IsSilent(*owned.host));
  view.set_trouble(glance_.books().hosts.Refusal(owned));
  return view;
}

absl::StatusOr<const v1::Volume*> FleetView::FindVolume(absl::string_view name) const {
  const v1::Volume* found = nullptr;
  for (const v1::Volume& volume : volumes_) {
    if (!IsCalled(volume, name)) continue;
    if (found != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("several volumes are called \"", name, "\": name it by its uuid"));
    }
    found = &volume;
  }
  if (found == nullptr) {
    return absl::NotFoundError(absl::StrCat("no host has a volume called \"", name, "\""));
  }
  return found;
}

// ---- the summary ----

v1::GetSummaryResponse FleetView::Summary(const Filter& filter,
                                          const std::vector<v1::Host>& hosts) const {
  v1::GetSummaryResponse summary;
  *summary.mutable_time() = ToTimestamp(glance_.now());
  std::vector<const v1::Volume*> selected;
  std::map<std::string, v1::GetSummaryResponse::Part> by_host;
  std::map<std::string, v1::GetSummaryResponse::Part> by_label;
  const auto count = [](const std::string& name, const v1::Volume& volume,
                        std::map<std::string, v1::GetSummaryResponse::Part>& parts) {
    v1::GetSummaryResponse::Part& part = parts[name];
    part.set_name(name);
    part.set_volume_count(part.volume_count() + 1);
    AddSpace(volume.space(), *part.mutable_space());
  };
  for (const v1::Volume& volume : volumes_) {
    if (!filter.Holds([&](absl::string_view field) { return ValueOf(volume, field); })) continue;
    selected.push_back(&volume);
    AddSpace(volume.space(), *summary.mutable_total());
    count(volume.host_name(), volume, by_host);
    for (const auto& [key, value] : volume.labels()) {
      count(absl::StrCat(key, "=", value), volume, by_label);
    }
  }
  summary.set_volume_count(static_cast<int32_t>(selected.size()));
  for (auto& [name, part] : by_host) *summary.add_hosts() = std::move(part);
  for (auto& [name, part] : by_label) *summary.add_labels() = std::move(part);
  if (filter.empty()) {
    // Volumes that are gone were freed, too.
    const storage::v1::FleetTotals& totals = glance_.books().totals;
    summary.mutable_total()->set_freed_bytes(totals.freed_bytes());
    summary.mutable_total()->set_freed_at_least(totals.incomplete());
  }
  summary.set_host_count(static_cast<int32_t>(hosts.size()));
  summary.set_connected_host_count(
      static_cast<int32_t>(std::count_if(hosts.begin(), hosts.end(), [](const v1::Host& host) {
        return host.state() != v1::Host::STATE_SILENT;
      })));
  std::set<std::string> uuids;
  for (const v1::Volume* volume : selected) uuids.insert(volume->volume_uuid());
  for (const int64_t number : glance_.books().runs.active()) {
    const FleetRun& run = *glance_.books().runs.Find(number);
    if (!uuids.contains(run.record.volume_uuid())) continue;
    v1::Run view = glance_.View(run);
    if (view.state() == v1::RUN_STATE_RUNNING) {
      summary.set_running_count(summary.running_count() + 1);
    } else {
      summary.set_waiting_count(summary.waiting_count() + 1);
    }
    if (summary.active_runs_size() < kActiveRunsShown) *summary.add_active_runs() = std::move(view);
  }
  for (v1::ScheduleEntry& entry : NextEntries(kNextShown)) *summary.add_next() = std::move(entry);
  std::vector<v1::Attention> attention = Attention(hosts, selected);
  summary.set_attention_count(static_cast<int32_t>(attention.size()));
  for (v1::Attention& each : attention) {
    if (summary.attention_size() == kAttentionShown) break;
    *summary.add_attention() = std::move(each);
  }
  return summary;
}

std::vector<v1::Attention> FleetView::Attention(
    const std::vector<v1::Host>& hosts, const std::vector<const v1::Volume*>& volumes) const {
  using A = v1::Attention;
  std::vector<A> found;
  for (const v1::Host& host : hosts) {
    const auto add = [&](A::Severity severity, absl::string_view kind, std::string text) {
      found.push_back(MakeAttention(severity, kind, std::move(text)));
      found.back().set_host_id(host.host_id());
    };
    if (host.state() == v1::Host::STATE_SILENT && host.has_last_seen_time()) {
      add(A::SEVERITY_ERROR, "host-silent",
          absl::StrCat(host.display_name(), " was last heard of ",
                       absl::FormatTime("%Y-%m-%d %H:%M", FromTimestamp(host.last_seen_time()),
                                        absl::UTCTimeZone()),
                       " UTC: is `onefold worker` running there?"));
    }
    for (const std::string& advice : host.advice()) {
      add(A::SEVERITY_NOTICE, "host-advice", absl::StrCat(host.display_name(), ": ", advice));
    }
    if (host.has_certificate_expire_time()) {
      const absl::Time end = FromTimestamp(host.certificate_expire_time());
      if (end < glance_.now() + kCertificateWarning) {
        add(A::SEVERITY_WARNING, "certificate-expiring",
            absl::StrCat("the certificate of ", host.display_name(),
                         end < glance_.now() ? " has ended: forget it and join it anew"
                                             : " ends soon and was not renewed: does its worker "
                                               "reach the coordinator?"));
      }
    }
  }
  for (const v1::Volume* volume : volumes) {
    const std::string name = absl::StrCat(volume->host_name(), ": ", volume->name());
    const auto add = [&](A::Severity severity, absl::string_view kind, std::string text) {
      found.push_back(MakeAttention(severity, kind, absl::StrCat(name, ": ", text)));
      found.back().set_host_id(volume->host_id());
      found.back().set_volume_uuid(volume->volume_uuid());
    };
    // That nothing is allowed is the host's advice.
    if (!volume->mounted().trouble().empty()) {
      add(A::SEVERITY_WARNING, "volume-trouble", volume->mounted().trouble());
    }
    const v1::Run& run = volume->last_run();
    if (run.state() == v1::RUN_STATE_FAILED || run.state() == v1::RUN_STATE_INCOMPLETE) {
      const bool failed = run.state() == v1::RUN_STATE_FAILED;
      std::string why = run.status().message();
      if (why.empty() && run.status().problems_size() > 0) {
        const v1::RunProblem& problem = run.status().problems(0);
        why =
            absl::StrCat(problem.reason(), problem.detail().empty() ? "" : ": ", problem.detail());
      }
      add(failed ? A::SEVERITY_ERROR : A::SEVERITY_WARNING,
          failed ? "run-failed" : "run-incomplete",
          absl::StrCat(failed ? "the last run failed" : "the last run did less than asked",
                       why.empty() ? "" : ": ", why));
      found.back().set_run_id(run.run_id());
    }
    if (volume->has_next_due_time() &&
        FromTimestamp(volume->next_due_time()) < glance_.now() - absl::Minutes(5) &&
        !volume->has_active_run()) {
      add(A::SEVERITY_WARNING, "schedule-missed",
          absl::StrCat("policy ", volume->next_policy(),
                       " was due and could not run; it is made up for once it can"));
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const A& a, const A& b) { return a.severity() > b.severity(); });
  return found;
}

// ---- the schedule ----

std::vector<v1::ScheduleEntry> FleetView::NextEntries(size_t count) const {
  std::vector<v1::ScheduleEntry> entries;
  for (const auto& [name, policy] : glance_.books().policies) {
    if (!policy->schedule) continue;
    v1::ScheduleEntry& entry = entries.emplace_back();
    entry.set_policy(name);
    entry.set_state(v1::ScheduleEntry::STATE_DUE);
    *entry.mutable_due_time() = ToTimestamp(policy->schedule->NextAfter(glance_.now()));
    for (const OwnedVolume& owned : glance_.books().hosts.OwnedVolumes()) {
      if (!policy->Selects(owned.Subject())) continue;
      entry.set_volume_count(entry.volume_count() + 1);
      if (entry.volumes_size() < kVolumesNamed) entry.add_volumes(owned.volume->Name());
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const v1::ScheduleEntry& a, const v1::ScheduleEntry& b) {
                     return a.due_time().seconds() < b.due_time().seconds();
                   });
  if (entries.size() > count) entries.resize(count);
  return entries;
}

absl::StatusOr<v1::ListScheduleResponse> FleetView::Schedule(
    const v1::ListScheduleRequest& request) const {
  const absl::Time now = glance_.now();
  const absl::Time start = request.has_start_time() ? FromTimestamp(request.start_time()) : now;
  const absl::Time end =
      request.has_end_time() ? FromTimestamp(request.end_time()) : start + kSpanDefault;
  if (start < now - kBackMax || end - start > kSpanMax || end < start) {
    return absl::InvalidArgumentError(
        "start_time, end_time: at most 400 days back, and at most 60 days long");
  }
  const fleet::Books& books = glance_.books();
  if (!request.policy().empty() && !books.policies.contains(request.policy())) {
    return absl::NotFoundError(absl::StrCat("there is no policy ", request.policy()));
  }
  v1::ListScheduleResponse response;
  const std::vector<OwnedVolume> volumes = books.hosts.OwnedVolumes();
  std::vector<v1::ScheduleEntry> entries;
  std::vector<v1::ScheduleWindow> windows;
  for (const auto& [name, policy] : books.policies) {
    if (!request.policy().empty() && name != request.policy()) continue;
    v1::ScheduleEntry pattern;
    pattern.set_policy(name);
    absl::Time answered = absl::InfiniteFuture();  // by the volume that is furthest behind
    for (const OwnedVolume& owned : volumes) {
      if (!policy->Selects(owned.Subject())) continue;
      pattern.set_volume_count(pattern.volume_count() + 1);
      if (pattern.volumes_size() < kVolumesNamed) pattern.add_volumes(owned.volume->Name());
      const auto known = books.answered.find({name, owned.volume->uuid});
      if (known != books.answered.end()) answered = std::min(answered, known->second);
    }
    if (!policy->windows.empty()) {
      for (const fleet::MaintenanceWindow& window : policy->windows) {
        for (absl::Time at = start; at < end;) {
          const fleet::MaintenanceWindow::Span span = window.At(at, policy->zone);
          if (span.opens >= end || windows.size() >= kEntriesMax) break;
          v1::ScheduleWindow& shown = windows.emplace_back();
          shown.set_policy(name);
          *shown.mutable_start_time() = ToTimestamp(span.opens);
          *shown.mutable_end_time() = ToTimestamp(span.closes);
          at = std::max(span.closes, at + absl::Minutes(1));
        }
      }
    }
    if (!policy->schedule) {
      response.add_unscheduled(name);
      continue;
    }
    std::vector<const FleetRun*> runs;  // the policy's, by time
    for (const auto& [number, run] : books.runs.runs()) {
      if (run.record.policy() == name) runs.push_back(&run);
    }
    absl::Time due = policy->schedule->NextAfter(start - absl::Seconds(1));
    for (int listed = 0; due < end; ++listed) {
      if (listed == kEntriesMax) {
        response.set_truncated(true);
        break;
      }
      const absl::Time next = policy->schedule->NextAfter(due);
      v1::ScheduleEntry entry = pattern;
      *entry.mutable_due_time() = ToTimestamp(due);
      bool active = false;
      for (const FleetRun* run : runs) {
        const absl::Time made = absl::FromUnixSeconds(run->record.create_unix_seconds());
        if (made < due || made >= next) continue;
        active = active || !run->ended();
        if (entry.run_ids_size() < kRunsNamed) entry.add_run_ids(run->id());
      }
      // Nothing is said of times at which nobody knows whether the policy was there.
      const bool was_there =
          !runs.empty() && absl::FromUnixSeconds(runs.front()->record.create_unix_seconds()) < due;
      if (entry.run_ids_size() > 0) {
        entry.set_state(active ? v1::ScheduleEntry::STATE_ACTIVE : v1::ScheduleEntry::STATE_DONE);
      } else if (due > now - policy->jitter - absl::Minutes(1)) {
        entry.set_state(v1::ScheduleEntry::STATE_DUE);
      } else if (answered < due || was_there) {
        entry.set_state(v1::ScheduleEntry::STATE_MISSED);
      }
      if (entry.state() != v1::ScheduleEntry::STATE_UNSPECIFIED) entries.push_back(entry);
      due = next;
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const v1::ScheduleEntry& a, const v1::ScheduleEntry& b) {
                     return a.due_time().seconds() < b.due_time().seconds();
                   });
  std::stable_sort(windows.begin(), windows.end(),
                   [](const v1::ScheduleWindow& a, const v1::ScheduleWindow& b) {
                     return a.start_time().seconds() < b.start_time().seconds();
                   });
  if (entries.size() > kEntriesMax) {
    entries.resize(kEntriesMax);
    response.set_truncated(true);
  }
  for (v1::ScheduleEntry& entry : entries) *response.add_entries() = std::move(entry);
  for (v1::ScheduleWindow& window : windows) *response.add_windows() = std::move(window);
  return response;
}

// ---- fields of filters ----

const std::vector<Filter::Field>& VolumeFields() {
  using K = Filter::Kind;
  static const auto* const fields = new std::vector<Filter::Field>{{"name", K::kText},
                                                                   {"uuid", K::kText},
                                                                   {"host", K::kText},
                                                                   {"host_id", K::kText},
                                                                   {"labels.", K::kText},
                                                                   {"connected", K::kBool},
                                                                   {"trouble", K::kText},
                                                                   {"size_bytes", K::kNumber},
                                                                   {"used_bytes", K::kNumber},
                                                                   {"freed_bytes", K::kNumber},
                                                                   {"waiting_bytes", K::kNumber},
                                                                   {"pinned_bytes", K::kNumber},
                                                                   {"duplicate_bytes", K::kNumber}};
  return *fields;
}

namespace {

template <typename Map>
Filter::Value LabelOf(const Map& labels, absl::string_view field) {
  const auto label = labels.find(std::string(absl::StripPrefix(field, "labels.")));
  if (label == labels.end()) return {};
  return label->second;
}

}  // namespace

Filter::Value ValueOf(const v1::Volume& volume, absl::string_view field) {
  const SpaceFigures& space = volume.space();
  const auto figure = [](bool known, int64_t value) -> Filter::Value {
    if (!known) return {};
    return value;
  };
  if (field == "name") return volume.name();
  if (field == "uuid") return volume.uuid();
  if (field == "host") return volume.host_name();
  if (field == "host_id") return volume.host_id();
  if (field == "connected") return volume.connected();
  if (field == "trouble") return volume.trouble();
  if (field == "size_bytes") return figure(space.has_size_bytes(), space.size_bytes());
  if (field == "used_bytes") return figure(space.has_used_bytes(), space.used_bytes());
  if (field == "freed_bytes") return figure(space.has_freed_bytes(), space.freed_bytes());
  if (field == "waiting_bytes") return figure(space.has_waiting_bytes(), space.waiting_bytes());
  if (field == "pinned_bytes") return figure(space.has_pinned_bytes(), space.pinned_bytes());
  if (field == "duplicate_bytes") {
    return figure(space.has_duplicate_bytes(), space.duplicate_bytes());
  }
  return LabelOf(volume.labels(), field);
}

const std::vector<Filter::Field>& HostFields() {
  using K = Filter::Kind;
  static const auto* const fields = new std::vector<Filter::Field>{
      {"name", K::kText},    {"host_id", K::kText}, {"state", K::kText},
      {"drained", K::kBool}, {"version", K::kText}, {"labels.", K::kText}};
  return *fields;
}

Filter::Value ValueOf(const v1::Host& host, absl::string_view field) {
  if (field == "name") return host.display_name();
  if (field == "host_id") return host.host_id();
  if (field == "state") {
    return absl::AsciiStrToLower(absl::StripPrefix(v1::Host::State_Name(host.state()), "STATE_"));
  }
  if (field == "drained") return host.drained();
  if (field == "version") return host.version();
  return LabelOf(host.labels(), field);
}

const std::vector<Filter::Field>& RunFields() {
  using K = Filter::Kind;
  static const auto* const fields = new std::vector<Filter::Field>{
      {"run_id", K::kText},   {"volume", K::kText},        {"uuid", K::kText},
      {"host_id", K::kText},  {"policy", K::kText},        {"state", K::kText},
      {"active", K::kBool},   {"dry_run", K::kBool},       {"create_time", K::kTime},
      {"end_time", K::kTime}, {"freed_bytes", K::kNumber}, {"problem_count", K::kNumber}};
  return *fields;
}

Filter::Value ValueOf(const v1::Run& run, absl::string_view field) {
  if (field == "run_id") return run.run_id();
  if (field == "volume") return run.volume_name();
  if (field == "uuid") {
    const auto uuid = VolumeUuidFromBytes(run.volume_uuid());
    if (!uuid) return {};
    return ToString(*uuid);
  }
  if (field == "host_id") return run.host_id();
  if (field == "policy") return run.policy();
  if (field == "state") return StateWord(run.state());
  if (field == "active") return !fleet::IsEnded(run.state());
  if (field == "dry_run") return run.dry_run();
  if (field == "create_time") return FromTimestamp(run.create_time());
  if (field == "end_time") {
    if (!run.has_end_time()) return {};
    return FromTimestamp(run.end_time());
  }
  if (field == "freed_bytes") {
    if (!run.status().figures().has_bytes_freed()) return {};
    return run.status().figures().bytes_freed();
  }
  if (field == "problem_count") return run.status().problem_count();
  return {};
}

}  // namespace onefold::query
