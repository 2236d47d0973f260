#include "coordinator/coordinator_service.h"

#include <memory>
#include <utility>

#include "common/grpc_status.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "coordinator/identity/caller.h"
#include "coordinator/identity/grpc_caller.h"
#include "coordinator/index_readers.h"
#include "coordinator/outcome_recorder.h"
#include "coordinator/wire_orders.h"
#include "coordinator/wire_rows.h"

namespace onefold::index {
namespace {

constexpr size_t kWorkerIdBytesMax = 256;
// Filesystems mounted on one host.
constexpr int kVolumesPerSyncMax = 1024;
constexpr int64_t kSyncDelaySeconds = 60;

absl::Status CheckSync(const v1::SyncRequest& request) {
  if (request.worker_id().empty() || request.worker_id().size() > kWorkerIdBytesMax) {
    return absl::InvalidArgumentError("worker_id: empty or too long");
  }
  if (request.volumes_size() > kVolumesPerSyncMax) {
    return absl::InvalidArgumentError("volumes: too many");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CoordinatorService::CheckSpeaksOf(const grpc::ServerContext& context,
                                               const VolumeUuid& volume) const {
  if (fleet_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  if (caller.kind == Caller::Kind::kLocal) return absl::OkStatus();
  return fleet_->MaySpeakOf(caller.id, volume);
}

absl::StatusOr<CoordinatorService::Admission> CoordinatorService::AdmitFacts(
    const grpc::ServerContext& context, const v1::Lease& lease, uint64_t incarnation) {
  ASSIGN_OR_RETURN(const VolumeUuid uuid, ParseUuid(lease.volume_uuid()));
  RETURN_IF_ERROR(CheckSpeaksOf(context, uuid));
  RETURN_IF_ERROR(rules_.shards.CheckOwn(uuid));
  Volume* volume = volumes_.Find(uuid);
  if (volume == nullptr) {
    return absl::FailedPreconditionError("the volume is unknown here: sync again");
  }
  ASSIGN_OR_RETURN(VolumeRecord record, volume->Record(incarnation));
  return Admission{.volume = volume, .record = std::move(record), .epoch = lease.epoch()};
}

absl::StatusOr<CoordinatorService::Admission> CoordinatorService::Admit(
    const grpc::ServerContext& context, const v1::Lease& lease, uint64_t incarnation) {
  ASSIGN_OR_RETURN(const VolumeUuid uuid, ParseUuid(lease.volume_uuid()));
  RETURN_IF_ERROR(CheckSpeaksOf(context, uuid));  // before the lease: an epoch is easy to guess
  RETURN_IF_ERROR(rules_.shards.CheckOwn(uuid));
  RETURN_IF_ERROR(leases_.Renew(uuid, lease.epoch()));
  return AdmitFacts(context, lease, incarnation);
}

absl::Status CoordinatorService::Renew(const Admission& admission) {
  return leases_.Renew(admission.volume->uuid(), admission.epoch);
}

grpc::Status CoordinatorService::GetAssignment(grpc::ServerContext*,
                                               const v1::GetAssignmentRequest* request,
                                               v1::GetAssignmentResponse* response) {
  const absl::StatusOr<VolumeUuid> uuid = ParseUuid(request->volume_uuid());
  if (!uuid.ok()) return ToGrpcStatus(uuid.status());
  response->set_coordinator_address(rules_.shards.AddressFor(*uuid));
  return grpc::Status::OK;
}

grpc::Status CoordinatorService::Sync(grpc::ServerContext* context, const v1::SyncRequest* request,
                                      v1::SyncResponse* response) {
  const auto sync = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckSync(*request));
    if (fleet_ != nullptr) {
      ASSIGN_OR_RETURN(const Caller caller, CallerOf(*context));
      RETURN_IF_ERROR(CheckSpeaksFor(caller, request->worker_id()));
    }
    response->mutable_sync_delay()->set_seconds(kSyncDelaySeconds);
    RETURN_IF_ERROR(SyncHost(*request, *response));
    for (const v1::VolumeState& state : request->volumes()) {
      RETURN_IF_ERROR(SyncVolume(request->worker_id(), state, *response->add_orders()));
    }
    return absl::OkStatus();
  };
  return ToGrpcStatus(sync());
}

absl::Status CoordinatorService::SyncHost(const v1::SyncRequest& request,
                                          v1::SyncResponse& response) {
  if (fleet_ == nullptr || !request.has_host()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      Fleet::SyncAnswer answer,
      fleet_->HandleSync(request.worker_id(), request.worker_version(), request.host()));
  for (v1::RunOrder& order : answer.orders) *response.add_run_orders() = std::move(order);
  for (std::string& sentence : answer.advice) response.add_advice(std::move(sentence));
  response.mutable_sync_delay()->set_seconds(absl::ToInt64Seconds(answer.sync_delay));
  response.mutable_sync_delay()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(answer.sync_delay % absl::Seconds(1))));
  return absl::OkStatus();
}

absl::Status CoordinatorService::SyncVolume(const std::string& worker, const v1::VolumeState& state,
                                            v1::VolumeOrder& order) {
  ASSIGN_OR_RETURN(const VolumeUuid uuid, ParseVolumeState(state));
  RETURN_IF_ERROR(rules_.shards.CheckOwn(uuid));
  // No order says more than an empty one to a host whose volume it is not.
  if (fleet_ != nullptr && !fleet_->MaySpeakOf(worker, uuid).ok()) return absl::OkStatus();
  if (state.released_epoch() > 0) leases_.Release(uuid, worker, state.released_epoch());
  Volume* volume = volumes_.Find(uuid);
  const bool may_lease = fleet_ == nullptr || fleet_->MayLease(worker, uuid).ok();
  if (state.want_lease() && may_lease) {
    ASSIGN_OR_RETURN(const std::optional<LeaseBoard::Grant> grant, leases_.Acquire(uuid, worker));
    if (grant) {
      const VolumeBook::Shape shape{.block_bytes = state.block_bytes(),
                                    .checksum_kind = state.checksum_kind()};
      // Once for each lease: a worker may sync while it works.
      const bool anew = state.reconsider_all() && !grant->worked;
      ASSIGN_OR_RETURN(volume,
                       volumes_.FindOrMake(uuid, shape, state.filesystem_generation(), anew));
      const Circumstances now{.scope_digest = state.scope_digest(),
                              .subvolume_set_digest = state.subvolume_set_digest(),
                              .run_begins = state.run_begins() && !grant->worked};
      RETURN_IF_ERROR(Reconsider(index_, *volume, volume->Record().incarnation(), now));
      WriteLease(uuid, grant->epoch, leases_.ttl(), *order.mutable_lease());
    }
  }
  if (volume != nullptr) WriteOrder(volume->Record(), order);
  return absl::OkStatus();
}

grpc::Status CoordinatorService::ListIncompleteExtents(
    grpc::ServerContext* context, const v1::ListIncompleteExtentsRequest* request,
    grpc::ServerWriter<v1::ListIncompleteExtentsResponse>* writer) {
  return ToGrpcStatus(StreamIncomplete(*context, *request, *writer));
}

absl::Status CoordinatorService::StreamIncomplete(
    const grpc::ServerContext& context, const v1::ListIncompleteExtentsRequest& request,
    grpc::ServerWriter<v1::ListIncompleteExtentsResponse>& writer) {
  ASSIGN_OR_RETURN(const Admission admission,
                   Admit(context, request.lease(), request.incarnation()));
  IncompleteReader reader(index_, NumberOf(admission.record));
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<Extent> extents, reader.Next(kUploadRowsPerBatch));
    if (extents.empty()) return absl::OkStatus();
    v1::ListIncompleteExtentsResponse response;
    WriteIncomplete(extents, *response.mutable_rows());
    if (!writer.Write(response)) return absl::OkStatus();
    RETURN_IF_ERROR(Renew(admission));
  }
}

grpc::Status CoordinatorService::GetHeads(grpc::ServerContext* context,
                                          const v1::GetHeadsRequest* request,
                                          grpc::ServerWriter<v1::GetHeadsResponse>* writer) {
  return ToGrpcStatus(StreamHeads(*context, *request, *writer));
}

absl::Status CoordinatorService::StreamHeads(const grpc::ServerContext& context,
                                             const v1::GetHeadsRequest& request,
                                             grpc::ServerWriter<v1::GetHeadsResponse>& writer) {
  ASSIGN_OR_RETURN(const Admission admission,
                   Admit(context, request.lease(), request.incarnation()));
  ASSIGN_OR_RETURN(const Heads heads, ReadHeads(index_, admission.record));
  const absl::string_view bytes = heads.filter.bytes();
  for (size_t at = 0; at < bytes.size(); at += kHeadFilterPieceBytes) {
    v1::GetHeadsResponse response;
    response.set_block_count(heads.filter.block_count());
    response.set_window_lengths(heads.window_lengths);
    response.set_piece(std::string(bytes.substr(at, kHeadFilterPieceBytes)));
    if (!writer.Write(response)) break;
  }
  return absl::OkStatus();
}

grpc::Status CoordinatorService::FetchPlan(grpc::ServerContext* context,
                                           const v1::FetchPlanRequest* request,
                                           grpc::ServerWriter<v1::FetchPlanResponse>* writer) {
  return ToGrpcStatus(StreamPlan(*context, *request, *writer));
}

absl::Status CoordinatorService::StreamPlan(const grpc::ServerContext& context,
                                            const v1::FetchPlanRequest& request,
                                            grpc::ServerWriter<v1::FetchPlanResponse>& writer) {
  ASSIGN_OR_RETURN(const PlanQuery query, ParseFetchPlan(request));
  ASSIGN_OR_RETURN(const Admission admission,
                   Admit(context, request.lease(), request.incarnation()));
  const PlanMemory::Share memory = plan_memory_.Take(admission.record.extent_count());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PlanStream> plan,
      OpenPlan(index_, *admission.volume, request.incarnation(), query, memory.candidates_max()));
  for (bool first = true;; first = false) {
    ASSIGN_OR_RETURN(const std::vector<PlanGroup> groups, plan->Next());
    if (groups.empty() && !first) return absl::OkStatus();
    v1::FetchPlanResponse response;
    response.set_group_count(plan->group_count());
    response.set_expected_bytes(plan->expected_bytes());
    for (const PlanGroup& group : groups) WriteGroup(group, *response.add_groups());
    if (!writer.Write(response) || groups.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(Renew(admission));
  }
}

grpc::Status CoordinatorService::ReportResults(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<v1::ReportResultsResponse, v1::ReportResultsRequest>* stream) {
  return ToGrpcStatus(StreamResults(*context, *stream));
}

absl::Status CoordinatorService::StreamResults(const grpc::ServerContext& context,
                                               ResultStream& stream) {
  v1::ReportResultsRequest request;
  if (!stream.Read(&request)) return absl::OkStatus();
  if (!request.has_begin()) return absl::InvalidArgumentError("the first message must be begin");
  const uint64_t incarnation = request.begin().incarnation();
  ASSIGN_OR_RETURN(const Admission admission,
                   AdmitFacts(context, request.begin().lease(), incarnation));
  int64_t batch_count = 0;
  while (stream.Read(&request)) {
    Renew(admission).IgnoreError();  // facts count under any lease
    v1::ReportResultsResponse response;
    if (request.has_batch()) {
      ASSIGN_OR_RETURN(std::vector<ExtentResult> results, ParseResults(request.batch()));
      RETURN_IF_ERROR(RecordResults(index_, *admission.volume, incarnation, std::move(results)));
      ++batch_count;
    } else if (request.has_end()) {
      ASSIGN_OR_RETURN(const PlanEnd end, ParsePlanEnd(request.end()));
      RETURN_IF_ERROR(EndPlan(index_, *admission.volume, incarnation, end));
      WriteSummary(admission.volume->Record(), response);
    } else {
      return absl::InvalidArgumentError("a message must be batch or end");
    }
    response.set_batch_count(batch_count);
    if (!stream.Write(response)) break;
  }
  return absl::OkStatus();
}

}  // namespace onefold::index
