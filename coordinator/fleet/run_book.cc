#include "coordinator/fleet/run_book.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onefold::fleet {

void RunBook::Put(FleetRun run) {
  const int64_t number = run.number;
  numbers_[run.id()] = number;
  if (run.ended()) {
    active_.erase(number);
    active_by_volume_.erase({run.volume, number});
  } else {
    active_.insert(number);
    active_by_volume_.insert({run.volume, number});
  }
  runs_[number] = std::move(run);
}

void RunBook::Erase(int64_t number) {
  const auto run = runs_.find(number);
  if (run == runs_.end()) return;
  first_number_ = std::max(first_number_, number + 1);
  numbers_.erase(run->second.id());
  active_.erase(number);
  active_by_volume_.erase({run->second.volume, number});
  runs_.erase(run);
}

const FleetRun* RunBook::Find(int64_t number) const {
  const auto run = runs_.find(number);
  return run == runs_.end() ? nullptr : &run->second;
}

const FleetRun* RunBook::Find(absl::string_view id) const {
  const auto number = numbers_.find(id);
  return number == numbers_.end() ? nullptr : Find(number->second);
}

absl::StatusOr<const FleetRun*> RunBook::Resolve(absl::string_view id) const {
  if (id.empty()) return absl::InvalidArgumentError("run_id is missing");
  if (const FleetRun* run = Find(id)) return run;
  auto at = numbers_.lower_bound(id);
  if (at == numbers_.end() || !absl::StartsWith(at->first, id)) {
    return absl::NotFoundError(
        absl::StrCat("there is no run \"", id, "\"; `onefold run list` shows them"));
  }
  const int64_t number = at->second;
  if (++at != numbers_.end() && absl::StartsWith(at->first, id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", id, "\" begins the ids of several runs: give more of it"));
  }
  return Find(number);
}

std::vector<const FleetRun*> RunBook::ActiveOn(const VolumeUuid& volume) const {
  std::vector<const FleetRun*> found;
  for (auto at = active_by_volume_.lower_bound({volume, 0});
       at != active_by_volume_.end() && at->first == volume; ++at) {
    found.push_back(Find(at->second));
  }
  return found;
}

std::vector<const FleetRun*> RunBook::ByRequest(absl::string_view request_id) const {
  std::vector<const FleetRun*> found;
  if (request_id.empty()) return found;
  for (const auto& [number, run] : runs_) {
    if (run.record.request_id() == request_id) found.push_back(&run);
  }
  return found;
}

std::vector<int64_t> RunBook::Surplus(size_t ended_max) const {
  std::vector<int64_t> surplus;
  size_t ended = runs_.size() - active_.size();
  for (auto run = runs_.begin(); ended > ended_max && run != runs_.end(); ++run) {
    if (!run->second.ended()) continue;
    surplus.push_back(run->first);
    --ended;
  }
  return surplus;
}

void RunBook::SetWaitsFor(int64_t number, std::string reason) {
  const auto run = runs_.find(number);
  if (run != runs_.end()) run->second.waits_for = std::move(reason);
}

void RunBook::SetLive(int64_t number, const v1::RunStatus& status) {
  const auto run = runs_.find(number);
  if (run != runs_.end()) run->second.live = status;
}

}  // namespace onefold::fleet
