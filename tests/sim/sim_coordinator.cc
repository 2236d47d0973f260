#include "tests/sim/sim_coordinator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_macros.h"

namespace onefold::sim {
namespace {

// Duplicates of one plan: a minute's work.
constexpr size_t kPlanMax = 16;

}  // namespace

void SimCoordinator::Start() {
  auto fleet = Fleet::Open(options_, state_, world_.clock());
  auto leases = index::LeaseOffice::Open(state_, world_.clock(), {.ttl = options_.lease_ttl});
  CHECK(fleet.ok());
  CHECK(leases.ok());
  fleet_ = *std::move(fleet);
  leases_ = *std::move(leases);
}

void SimCoordinator::Crash() {
  fleet_.reset();
  leases_.reset();
}

void SimCoordinator::FillDisk(bool full) {
  state_.FailWrites(full ? absl::ResourceExhaustedError("disk full") : absl::OkStatus());
}

absl::Status SimCoordinator::CheckUp() const {
  return fleet_ == nullptr ? absl::UnavailableError("down") : absl::OkStatus();
}

absl::StatusOr<SimCoordinator::SyncReply> SimCoordinator::Sync(
    const std::string& worker, const v1::HostReport& report,
    const std::vector<VolumeUuid>& want_leases) {
  RETURN_IF_ERROR(CheckUp());
  SyncReply reply = {.answer = {}, .epochs = {}, .ttl = leases_->ttl()};
  ASSIGN_OR_RETURN(reply.answer, fleet_->HandleSync(worker, "sim", report));
  for (const VolumeUuid& volume : want_leases) {
    if (!fleet_->MaySpeakOf(worker, volume).ok() || !fleet_->MayLease(worker, volume).ok())
      continue;
    ASSIGN_OR_RETURN(const auto grant, leases_->Acquire(volume, worker));
    if (!grant) continue;
    Grant& last = grants_[volume];
    if (grant->epoch < last.epoch || (grant->epoch == last.epoch && worker != last.worker)) {
      world_.Wrong(absl::StrCat("epoch ", grant->epoch, " was given out twice"));
    }
    last = {.epoch = grant->epoch, .worker = worker};
    reply.epochs[volume] = grant->epoch;
  }
  return reply;
}

absl::StatusOr<std::vector<int>> SimCoordinator::FetchPlan(const std::string& worker,
                                                           const VolumeUuid& volume,
                                                           int64_t epoch) {
  RETURN_IF_ERROR(CheckUp());
  RETURN_IF_ERROR(fleet_->MaySpeakOf(worker, volume));
  RETURN_IF_ERROR(leases_->Renew(volume, epoch));
  if (LastGrant(volume).worker != worker) world_.Wrong("a plan for who has no lease");
  std::vector<int> plan;
  const Disk& disk = *world_.FindDisk(volume);
  for (int i = 0; i < disk.duplicate_count && plan.size() < kPlanMax; ++i) {
    if (!disk.recorded.contains(i)) plan.push_back(i);
  }
  return plan;
}

absl::Status SimCoordinator::ReportResults(const std::string& worker, const VolumeUuid& volume,
                                           int64_t epoch, const std::vector<int>& folded) {
  RETURN_IF_ERROR(CheckUp());
  RETURN_IF_ERROR(fleet_->MaySpeakOf(worker, volume));
  leases_->Renew(volume, epoch).IgnoreError();  // facts count under any lease
  Disk& disk = *world_.FindDisk(volume);
  for (const int duplicate : folded) {
    if (disk.recorded.insert(duplicate).second) ++disk.results_counted;
  }
  return absl::OkStatus();
}

void SimCoordinator::Tick() {
  if (fleet_ == nullptr) return;
  const absl::Status status = fleet_->Tick();
  if (!status.ok() && !absl::IsResourceExhausted(status)) world_.Wrong(status.ToString());
}

}  // namespace onefold::sim
