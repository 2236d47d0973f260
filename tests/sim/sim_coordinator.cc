#include "tests/sim/sim_coordinator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_macros.h"

namespace onefold::sim {

void SimCoordinator::Start() {
  auto fleet = Fleet::Open(options_, state_, world_.clock());
  auto leases = index::LeaseOffice::Open(state_, world_.clock(), {.ttl = options_.lease_ttl});
  CHECK(fleet.ok());
  CHECK(leases.ok());
  fleet_ = *std::move(fleet);
  leases_ = *std::move(leases);
  if (!std::exchange(index_open_, true)) index_.Open();
}

void SimCoordinator::Crash(bool lose_index) {
  fleet_.reset();
  leases_.reset();
  index_.Close();
  index_open_ = false;
  if (lose_index) index_.Lose();
}

void SimCoordinator::FillDisk(bool full) {
  state_.FailWrites(full ? absl::ResourceExhaustedError("disk full") : absl::OkStatus());
  index_.FillDisk(full);
}

absl::Status SimCoordinator::CheckUp() const {
  return fleet_ == nullptr ? absl::UnavailableError("down") : absl::OkStatus();
}

absl::StatusOr<SimCoordinator::SyncReply> SimCoordinator::Sync(
    const std::string& worker, const v1::HostReport& report,
    const std::vector<Wanted>& want_leases) {
  RETURN_IF_ERROR(CheckUp());
  SyncReply reply = {.answer = {}, .leases = {}, .ttl = leases_->ttl()};
  ASSIGN_OR_RETURN(reply.answer, fleet_->HandleSync(worker, "sim", report));
  for (const Wanted& wanted : want_leases) {
    const VolumeUuid& volume = wanted.volume;
    if (!fleet_->MaySpeakOf(worker, volume).ok() || !fleet_->MayLease(worker, volume).ok())
      continue;
    ASSIGN_OR_RETURN(const auto grant, leases_->Acquire(volume, worker));
    if (!grant) continue;
    Grant& last = grants_[volume];
    if (grant->epoch < last.epoch || (grant->epoch == last.epoch && worker != last.worker)) {
      world_.Wrong(absl::StrCat("epoch ", grant->epoch, " was given out twice"));
    }
    last = {.epoch = grant->epoch, .worker = worker};
    ASSIGN_OR_RETURN(const IndexPlace place,
                     index_.Admit(volume, wanted.anew && !grant->worked, !grant->worked));
    reply.leases[volume] = {.epoch = grant->epoch, .place = place};
  }
  return reply;
}

absl::Status SimCoordinator::CheckLease(const std::string& worker, const Topic& topic) {
  RETURN_IF_ERROR(CheckUp());
  RETURN_IF_ERROR(fleet_->MaySpeakOf(worker, topic.volume));
  RETURN_IF_ERROR(leases_->Renew(topic.volume, topic.epoch));
  if (LastGrant(topic.volume).worker != worker) world_.Wrong("work for who has no lease");
  return absl::OkStatus();
}

absl::Status SimCoordinator::Upload(const std::string& worker, const Topic& topic,
                                    std::vector<index::Extent> rows, int64_t target_generation) {
  RETURN_IF_ERROR(CheckLease(worker, topic));
  return index_.Upload(topic.volume, topic.incarnation, std::move(rows), target_generation);
}

absl::StatusOr<SimPlan> SimCoordinator::FetchPlan(const std::string& worker, const Topic& topic) {
  RETURN_IF_ERROR(CheckLease(worker, topic));
  return index_.FetchPlan(topic.volume, topic.incarnation);
}

absl::Status SimCoordinator::ReportResults(const std::string& worker, const Topic& topic,
                                           const std::vector<index::ExtentResult>& results,
                                           bool ends) {
  RETURN_IF_ERROR(CheckUp());
  RETURN_IF_ERROR(fleet_->MaySpeakOf(worker, topic.volume));
  leases_->Renew(topic.volume, topic.epoch).IgnoreError();  // facts count under any lease
  RETURN_IF_ERROR(index_.Record(topic.volume, topic.incarnation, results));
  return ends ? index_.EndPlan(topic.volume, topic.incarnation) : absl::OkStatus();
}

void SimCoordinator::Tick() {
  if (fleet_ == nullptr) return;
  const absl::Status status = fleet_->Tick();
  if (!status.ok() && !absl::IsResourceExhausted(status)) world_.Wrong(status.ToString());
}

}  // namespace onefold::sim
