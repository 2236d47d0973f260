#include "coordinator/fleet/due_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/fleet/jitter.h"

namespace onefold::fleet {
namespace {

// The wall clock may be set back a little without anything running twice; when it was wrong by
// more, schedules count from what it says now.
constexpr absl::Duration kClockErrorMax = absl::Hours(1);

// The one before has not ended: it does what this one would.
bool HasRun(const RunBook& runs, const VolumeUuid& volume, const std::string& policy) {
  const std::vector<const FleetRun*> active = runs.ActiveOn(volume);
  return std::any_of(active.begin(), active.end(),
                     [&](const FleetRun* run) { return run->record.policy() == policy; });
}

}  // namespace

DuePlan PlanDue(const Books& books, uint64_t jitter_seed, absl::Time now) {
  DuePlan plan = {.runs = {}, .answered = {}, .next = absl::InfiniteFuture()};
  now = absl::FromUnixSeconds(absl::ToUnixSeconds(now));  // as it is kept
  const std::vector<OwnedVolume> volumes = books.hosts.OwnedVolumes();
  for (const auto& [name, policy] : books.policies) {
    if (!policy->schedule) continue;
    for (const OwnedVolume& volume : volumes) {
      if (!policy->Selects(volume.Subject())) continue;
      const VolumeUuid& uuid = volume.volume->uuid;
      const DueKey key(name, uuid);
      const absl::Duration later = JitterOf(jitter_seed, name, uuid, policy->jitter);
      const auto known = books.answered.find(key);
      absl::Time answered = known == books.answered.end() ? now : known->second;
      if (answered > now + kClockErrorMax) answered = now;
      if (known == books.answered.end() || answered != known->second) plan.answered[key] = answered;
      const std::optional<absl::Time> due =
          policy->schedule->LatestIn(answered - later, now - later);
      if (due) {
        if (!books.hosts.Refusal(volume).empty()) continue;
        plan.answered[key] = now;
        answered = now;
        if (!HasRun(books.runs, uuid, name)) {
          plan.runs.push_back({.policy = policy, .volume = volume});
        }
      }
      plan.next = std::min(plan.next, policy->schedule->NextAfter(answered - later) + later);
    }
  }
  return plan;
}

}  // namespace onefold::fleet
