#include "worker/daemon/fleet_runner.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "worker/daemon/fence.h"
#include "worker/daemon/lease_keeper.h"
#include "worker/daemon/run_gate.h"
#include "worker/volume_run.h"

namespace onefold {
namespace {

// What the coordinator, or a volume that is busy, may answer differently the next time.
bool MayPass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kFailedPrecondition: return true;
    default: return false;
  }
}

}  // namespace

Runner::End FleetRunner::Run(const v1::RunOrder& order, RunTicket& ticket, VolumeReport& report) {
  const absl::StatusOr<MountTable> mounts = MountTable::Read();
  if (!mounts.ok()) return {.status = mounts.status()};
  SystemPathSource paths;
  absl::StatusOr<RunTarget> target = FindRunTarget(order, limits_, *mounts, paths);
  if (!target.ok()) {
    return {.status = target.status(), .may_pass = absl::IsUnavailable(target.status())};
  }
  const End end = Work(*target, ticket, report);
  for (Problem& problem : target->problems) AddProblem(report, std::move(problem));
  return end;
}

Runner::End FleetRunner::Work(const RunTarget& target, RunTicket& ticket, VolumeReport& report) {
  Fence fence(clock_);
  std::unique_ptr<VolumeLink> link;  // outlives its keeper's thread
  LeaseKeeper keeper(
      clock_, fence, [&link](const VolumeState& state) { return link->Renew(state); },
      [&ticket](std::string reason) { ticket.LoseLease(std::move(reason)); });
  absl::StatusOr<std::unique_ptr<VolumeLink>> connected = connect_(target.target.uuid, keeper);
  if (!connected.ok()) {
    return {.status = connected.status(), .may_pass = MayPass(connected.status())};
  }
  link = *std::move(connected);
  SystemPressureSource pressure(ToString(target.target.uuid));
  RunGate gate(clock_, fence, ticket, pressure);
  RunOptions options = target.options;
  options.gate = &gate;
  keeper.Start();
  const absl::Status status = RunVolume(target.target, options, target.excludes, link->client(),
                                        clock_, ticket.stop(), ticket.progress(), report);
  ticket.SetThrottledBy("");
  if (const std::optional<VolumeState> state = keeper.Stop()) {
    // Should it be lost, the next one waits until the lease has run out.
    link->Release(*state, fence.latest()->epoch).IgnoreError();
  }
  // Somebody else has it, or the coordinator began a new life: the coordinator says how to go on.
  if (absl::IsAborted(status)) ticket.LoseLease(std::string(status.message()));
  return {.status = status, .may_pass = MayPass(status)};
}

}  // namespace onefold
