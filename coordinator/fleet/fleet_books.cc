#include "coordinator/fleet/fleet_books.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/state_keys.h"

namespace onefold::fleet {
namespace {

using index::OrderedStore;
using index::RowBatch;

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the record of ", what, " is damaged"));
}

// Calls `take(key behind the prefix, message)` for every row.
template <typename Message, typename Take>
absl::Status ReadRows(const OrderedStore& state, absl::string_view prefix, absl::string_view what,
                      Take take) {
  const auto rows = state.Walk(prefix);
  for (; rows->Valid(); rows->Next()) {
    Message message;
    if (!message.ParseFromString(std::string(rows->value()))) return Damaged(what);
    RETURN_IF_ERROR(take(rows->key(), std::move(message)));
  }
  return rows->status();
}

absl::StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& yaml,
                                                         absl::TimeZone default_zone) {
  ASSIGN_OR_RETURN(std::vector<Policy> policies, ParsePolicies(yaml, default_zone));
  return std::make_shared<const Policy>(std::move(policies.front()));
}

template <typename Map>
bool ShareKeys(const Map& a, const Map& b) {
  const auto in = [](const Map& map) {
    return [&map](const auto& row) { return map.contains(row.first); };
  };
  return a.size() < b.size() ? std::any_of(a.begin(), a.end(), in(b))
                             : std::any_of(b.begin(), b.end(), in(a));
}

class Loader {
 public:
  Loader(const OrderedStore& state, absl::TimeZone default_zone, absl::Duration steady_now,
         std::vector<std::string>& warnings)
      : state_(state), zone_(default_zone), steady_now_(steady_now), warnings_(warnings) {}

  absl::StatusOr<Books> Load() {
    RETURN_IF_ERROR(LoadHosts());
    RETURN_IF_ERROR(LoadPolicies());
    RETURN_IF_ERROR(LoadRuns());
    return std::move(books_);
  }

 private:
  absl::Status LoadHosts() {
    HostBook::Change change;
    RETURN_IF_ERROR(ReadRows<storage::v1::HostRecord>(
        state_, index::kFleetHostPrefix, "a host", [&](absl::string_view key, auto record) {
          key.remove_prefix(index::kFleetHostPrefix.size());
          absl::StatusOr<Host> host = HostFromRecord(std::string(key), record);
          if (!host.ok()) return host.status();
          host->heard_at = steady_now_;  // it has its time to call again
          change.hosts[host->id] = *std::move(host);
          return absl::OkStatus();
        }));
    RETURN_IF_ERROR(ReadRows<storage::v1::VolumeClaimRecord>(
        state_, index::kFleetClaimPrefix, "a volume", [&](absl::string_view key, auto record) {
          const std::optional<VolumeUuid> uuid =
              VolumeUuidFromBytes(key.substr(index::kFleetClaimPrefix.size()));
          if (!uuid) return Damaged("a volume");
          change.claims[*uuid] = ClaimFromRecord(record);
          return absl::OkStatus();
        }));
    books_.hosts.Apply(change);
    return absl::OkStatus();
  }

  absl::Status LoadPolicies() {
    RETURN_IF_ERROR(ReadRows<storage::v1::PolicyRecord>(
        state_, index::kFleetPolicyPrefix, "a policy", [&](absl::string_view key, auto record) {
          const std::string name(key.substr(index::kFleetPolicyPrefix.size()));
          auto policy = ReadPolicy(record.yaml(), zone_);
          if (policy.ok()) {
            by_yaml_[record.yaml()] = *policy;
            books_.policies[name] = *std::move(policy);
          } else {
            warnings_.push_back(absl::StrCat(
                "policy ", name, " is left out: ", policy.status().message(), "; apply it anew"));
          }
          return absl::OkStatus();
        }));
    return ReadRows<storage::v1::DueRecord>(
        state_, index::kFleetDuePrefix, "a schedule", [&](absl::string_view key, auto record) {
          const std::optional<index::FleetDue> due = index::ParseFleetDueKey(key);
          if (!due) return Damaged("a schedule");
          books_.answered[{due->policy, due->volume}] =
              absl::FromUnixSeconds(record.answered_unix_seconds());
          return absl::OkStatus();
        });
  }

  absl::Status LoadRuns() {
    RETURN_IF_ERROR(ReadRows<storage::v1::FleetRunRecord>(
        state_, index::kFleetRunPrefix, "a run", [&](absl::string_view key, auto record) {
          const std::optional<int64_t> number = index::ParseFleetRunKey(key);
          const std::optional<VolumeUuid> volume = VolumeUuidFromBytes(record.volume_uuid());
          if (!number || !volume) return Damaged("a run");
          FleetRun run = {.number = *number, .volume = *volume, .record = std::move(record)};
          TakeRules(run);
          if (run.ended()) run.live = ToStatus(run.record);
          books_.runs.Put(std::move(run));
          return absl::OkStatus();
        }));
    ASSIGN_OR_RETURN(const std::optional<std::string> totals, state_.Get(index::kFleetTotalsKey));
    if (totals && !books_.totals.ParseFromString(*totals)) return Damaged("the sums");
    RETURN_IF_ERROR(ReadRows<storage::v1::FleetTotals>(
        state_, index::kFleetVolumeTotalsPrefix, "a volume's sums",
        [&](absl::string_view key, auto record) {
          const std::optional<VolumeUuid> uuid =
              VolumeUuidFromBytes(key.substr(index::kFleetVolumeTotalsPrefix.size()));
          if (!uuid) return Damaged("a volume's sums");
          books_.volume_totals[*uuid] = std::move(record);
          return absl::OkStatus();
        }));
    if (books_.volume_totals.empty()) SumUpVolumes();
    return absl::OkStatus();
  }

  // Books that are older than the sums of volumes: what is still known of their runs.
  void SumUpVolumes() {
    int64_t summed = 0;
    for (const auto& [number, run] : books_.runs.runs()) {
      if (!run.ended() || !run.record.has_result()) continue;
      const int64_t before = books_.volume_totals[run.volume].run_count();
      AddToTotals(run.record, books_.volume_totals[run.volume]);
      summed += books_.volume_totals[run.volume].run_count() - before;
    }
    if (summed == books_.totals.run_count() && !books_.totals.incomplete()) return;
    for (auto& [uuid, totals] : books_.volume_totals) totals.set_incomplete(true);
  }

  void TakeRules(FleetRun& run) {
    const std::string yaml = run.record.rules_yaml();
    if (yaml.empty()) return;
    if (const auto known = by_yaml_.find(yaml); known != by_yaml_.end()) {
      run.rules = known->second;
      return;
    }
    absl::StatusOr<std::shared_ptr<const Policy>> rules = ReadPolicy(yaml, zone_);
    if (rules.ok()) {
      run.rules = *std::move(rules);
      by_yaml_[yaml] = run.rules;
      return;
    }
    warnings_.push_back(absl::StrCat("run ", run.id(), " is given up: ", rules.status().message()));
    run.set_state(v1::RUN_STATE_FAILED);
    run.record.mutable_result()->set_message("its policy is not understood any more");
  }

  const OrderedStore& state_;
  const absl::TimeZone zone_;
  const absl::Duration steady_now_;
  std::vector<std::string>& warnings_;
  std::map<std::string, std::shared_ptr<const Policy>> by_yaml_;  // shared by many runs
  Books books_;
};

}  // namespace

FleetRun& Changes::Edit(const FleetRun& run) {
  return runs.try_emplace(run.number, run).first->second;
}

RowBatch ToRows(const Changes& changes) {
  RowBatch rows;
  if (changes.hosts.durable) {
    for (const auto& [id, host] : changes.hosts.hosts) {
      if (host) {
        rows.Put(index::FleetHostKey(id), ToRecord(*host).SerializeAsString());
      } else {
        rows.Delete(index::FleetHostKey(id));
      }
    }
    for (const auto& [uuid, claim] : changes.hosts.claims) {
      if (claim) {
        rows.Put(index::FleetClaimKey(uuid), ToRecord(*claim).SerializeAsString());
      } else {
        rows.Delete(index::FleetClaimKey(uuid));
      }
    }
  }
  for (const auto& [name, policy] : changes.policies) {
    storage::v1::PolicyRecord record;
    if (policy == nullptr) {
      rows.Delete(index::FleetPolicyKey(name));
      continue;
    }
    record.set_yaml(CanonicalYaml(*policy));
    rows.Put(index::FleetPolicyKey(name), record.SerializeAsString());
  }
  for (const auto& [key, answered] : changes.answered) {
    storage::v1::DueRecord record;
    if (!answered) {
      rows.Delete(index::FleetDueKey(key.first, key.second));
      continue;
    }
    record.set_answered_unix_seconds(absl::ToUnixSeconds(*answered));
    rows.Put(index::FleetDueKey(key.first, key.second), record.SerializeAsString());
  }
  for (const auto& [number, run] : changes.runs) {
    rows.Put(index::FleetRunKey(number), run.record.SerializeAsString());
  }
  for (const int64_t number : changes.erased_runs) rows.Delete(index::FleetRunKey(number));
  if (changes.totals) rows.Put(index::kFleetTotalsKey, changes.totals->SerializeAsString());
  for (const auto& [uuid, totals] : changes.volume_totals) {
    rows.Put(index::FleetVolumeTotalsKey(uuid), totals.SerializeAsString());
  }
  return rows;
}

void Apply(Changes changes, Books& books) {
  books.hosts.Apply(changes.hosts);
  for (auto& [name, policy] : changes.policies) {
    if (policy == nullptr) {
      books.policies.erase(name);
    } else {
      books.policies[name] = std::move(policy);
    }
  }
  for (const auto& [key, answered] : changes.answered) {
    if (answered) {
      books.answered[key] = *answered;
    } else {
      books.answered.erase(key);
    }
  }
  for (auto& [number, run] : changes.runs) books.runs.Put(std::move(run));
  for (const int64_t number : changes.erased_runs) books.runs.Erase(number);
  if (changes.totals) books.totals = *changes.totals;
  for (auto& [uuid, totals] : changes.volume_totals) books.volume_totals[uuid] = std::move(totals);
  for (const auto& [number, status] : changes.live) books.runs.SetLive(number, status);
}

bool AreDisjoint(const Changes& a, const Changes& b) {
  return !ShareKeys(a.hosts.hosts, b.hosts.hosts) && !ShareKeys(a.hosts.claims, b.hosts.claims) &&
         !ShareKeys(a.policies, b.policies) && !ShareKeys(a.answered, b.answered) &&
         !ShareKeys(a.runs, b.runs);
}

void Merge(Changes more, Changes& into) {
  into.hosts.hosts.merge(more.hosts.hosts);
  into.hosts.claims.merge(more.hosts.claims);
  into.hosts.durable = into.hosts.durable || more.hosts.durable;
  into.policies.merge(more.policies);
  into.answered.merge(more.answered);
  into.runs.merge(more.runs);
  into.erased_runs.merge(more.erased_runs);
  if (more.totals) into.totals = std::move(more.totals);
  for (auto& [uuid, totals] : more.volume_totals) into.volume_totals[uuid] = std::move(totals);
  into.live.merge(more.live);
}

absl::StatusOr<Books> LoadBooks(const OrderedStore& state, absl::TimeZone default_zone,
                                absl::Duration steady_now, std::vector<std::string>& warnings) {
  return Loader(state, default_zone, steady_now, warnings).Load();
}

}  // namespace onefold::fleet
