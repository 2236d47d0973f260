#include "coordinator/fleet/dispatch.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace onefold::fleet {
namespace {

// Windows of the run's policy, which a person's request overrides.
const std::vector<MaintenanceWindow>* WindowsOf(const FleetRun& run) {
  if (run.record.by_hand() || run.rules == nullptr || run.rules->windows.empty()) return nullptr;
  return &run.rules->windows;
}

// Who has a slot at present.
class Slots {
 public:
  // `host`: null if it was forgotten.
  void Take(const FleetRun& run, const Host* host) {
    ++total_;
    volumes_[run.volume] = run.id();
    if (host != nullptr) busy_[host->id] = run.id();
    if (run.rules == nullptr || run.record.by_hand()) return;
    ++by_policy_[run.rules->name];
    if (host != nullptr) ++by_group_[{run.rules->name, GroupOf(*run.rules, *host)}];
  }

  // Why there is none for the run; empty if there is.
  std::string Lacks(const FleetRun& run, const Host& host, const DispatchRules& rules) const {
    if (const auto busy = busy_.find(host.id); busy != busy_.end()) {
      return absl::StrCat("run ", busy->second, " on the same host");
    }
    // A volume that moved may still be worked on where it was.
    if (const auto busy = volumes_.find(run.volume); busy != volumes_.end()) {
      return absl::StrCat("run ", busy->second, " of the same volume");
    }
    if (rules.runs_at_once > 0 && total_ >= rules.runs_at_once) {
      return absl::StrCat("a slot: ", total_, " runs at once in all");
    }
    if (run.rules == nullptr || run.record.by_hand()) return "";
    const AtOnce& limit = run.rules->at_once;
    if (limit.hosts > 0 && Count(by_policy_, run.rules->name) >= limit.hosts) {
      return absl::StrCat("a slot: ", limit.hosts, " at once in policy ", run.rules->name);
    }
    const std::string group = GroupOf(*run.rules, host);
    if (limit.per_group > 0 &&
        Count(by_group_, std::make_pair(run.rules->name, group)) >= limit.per_group) {
      return absl::StrCat("a slot: ", limit.per_group, " at once where ", limit.group, "=", group);
    }
    return "";
  }

 private:
  // Hosts without the label are a group of their own.
  static std::string GroupOf(const Policy& policy, const Host& host) {
    const auto label = host.labels.find(policy.at_once.group);
    return label == host.labels.end() ? "" : label->second;
  }
  template <typename Key>
  static int64_t Count(const std::map<Key, int64_t>& counts, const Key& key) {
    const auto count = counts.find(key);
    return count == counts.end() ? 0 : count->second;
  }

  int64_t total_ = 0;
  std::map<std::string, std::string> busy_;    // host → run
  std::map<VolumeUuid, std::string> volumes_;  // → run
  std::map<std::string, int64_t> by_policy_;
  std::map<std::pair<std::string, std::string>, int64_t> by_group_;
};

// Bytes that the run is hoped to free. A volume that was never looked at may hold anything.
int64_t HopeOf(const FleetRun& run, const HostBook& hosts) {
  if (run.record.has_expected_bytes()) return run.record.expected_bytes();
  const std::optional<OwnedVolume> volume = hosts.FindVolume(run.volume);
  return volume ? volume->volume->mounted.used_bytes() : 0;
}

std::vector<const FleetRun*> InOrder(const HostBook& hosts, const RunBook& runs) {
  using Rank = std::tuple<bool, int, int64_t, int64_t>;  // smaller ones first
  std::vector<std::pair<Rank, const FleetRun*>> waiting;
  for (const int64_t number : runs.active()) {
    const FleetRun& run = *runs.Find(number);
    if (run.state() != v1::RUN_STATE_WAITING) continue;
    const int priority = run.rules == nullptr ? 0 : run.rules->priority;
    waiting.push_back({{!run.record.by_hand(), -priority, -HopeOf(run, hosts), number}, &run});
  }
  std::sort(waiting.begin(), waiting.end());
  std::vector<const FleetRun*> ordered;
  for (const auto& [rank, run] : waiting) ordered.push_back(run);
  return ordered;
}

// Why the run cannot work now, slots aside; empty if it can.
std::string Obstacle(const FleetRun& run, const std::optional<OwnedVolume>& volume,
                     const HostBook& hosts, const DispatchRules& rules, Instant now) {
  if (!volume) return "a host on which the volume is mounted";
  if (std::string refusal = hosts.Refusal(*volume); !refusal.empty()) return refusal;
  const Host& host = *volume->host;
  if (host.drained) {
    return absl::StrCat("host ", host.name, ", which is drained; `onefold fleet resume ", host.name,
                        "`");
  }
  if (IsSilent(host, rules, now)) return absl::StrCat("host ", host.name, ", which is silent");
  const std::vector<MaintenanceWindow>* windows = WindowsOf(run);
  if (windows != nullptr && OpenUntil(*windows, now.wall, run.rules->zone) <= now.wall) {
    const absl::Time opens = OpensNext(*windows, now.wall, run.rules->zone);
    return absl::StrCat("its window, which opens ",
                        absl::FormatTime("%Y-%m-%d %H:%M %Z", opens, run.rules->zone));
  }
  return "";
}

}  // namespace

bool IsSilent(const Host& host, const DispatchRules& rules, Instant now) {
  return now.steady - host.heard_at > rules.silent_after;
}

DispatchPlan PlanDispatch(const HostBook& hosts, const RunBook& runs, const DispatchRules& rules,
                          Instant now) {
  Slots slots;
  for (const int64_t number : runs.active()) {
    const FleetRun& run = *runs.Find(number);
    if (run.state() == v1::RUN_STATE_RUNNING) slots.Take(run, hosts.Find(run.record.host_id()));
  }
  DispatchPlan plan;
  for (const FleetRun* run : InOrder(hosts, runs)) {
    const std::optional<OwnedVolume> volume = hosts.FindVolume(run->volume);
    std::string reason = Obstacle(*run, volume, hosts, rules, now);
    if (reason.empty()) reason = slots.Lacks(*run, *volume->host, rules);
    if (reason.empty()) {
      plan.start.push_back(run->number);
      slots.Take(*run, volume->host);
    } else {
      plan.waits_for[run->number] = std::move(reason);
    }
  }
  return plan;
}

std::string StopReason(const FleetRun& run, const HostBook& hosts, Instant now) {
  if (run.wish() == Wish::kCancel) return "cancelled";
  if (run.wish() == Wish::kPause) return "paused";
  const std::optional<OwnedVolume> volume = hosts.FindVolume(run.volume);
  if (!volume || volume->host->id != run.record.host_id()) return "its host lost the volume";
  if (std::string refusal = hosts.Refusal(*volume); !refusal.empty()) return refusal;
  if (volume->host->drained) return "its host is drained";
  if (TimeLeft(run, now.wall) <= absl::ZeroDuration()) return "its window is over";
  return "";
}

absl::Duration TimeLeft(const FleetRun& run, absl::Time now) {
  const std::vector<MaintenanceWindow>* windows = WindowsOf(run);
  if (windows == nullptr) return absl::InfiniteDuration();
  return OpenUntil(*windows, now, run.rules->zone) - now;
}

}  // namespace onefold::fleet
