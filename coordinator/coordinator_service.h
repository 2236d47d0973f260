// CoordinatorService: turns wire messages into calls of the index and back; decides nothing itself.

#ifndef ONEFOLD_COORDINATOR_COORDINATOR_SERVICE_H_
#define ONEFOLD_COORDINATOR_COORDINATOR_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/lease_office.h"
#include "coordinator/ordered_store.h"
#include "coordinator/plan_memory.h"
#include "coordinator/scan_writer.h"
#include "coordinator/volume_book.h"
#include "coordinator/volume_rules.h"
#include "onefold/v1/coordinator_service.grpc.pb.h"

namespace onefold::index {

// Thread-safe.
class CoordinatorService final : public v1::CoordinatorService::Service {
 public:
  // What scans and plans under way may hold, all together.
  struct Memory {
    size_t rows_per_run = kRowsPerRun;
    size_t plan_candidates = kCandidatesMax;
  };

  // All must outlive the service. `index` is the store of `volumes`.
  CoordinatorService(OrderedStore& index, VolumeBook& volumes, LeaseOffice& leases,
                     VolumeRules rules = {})
      : CoordinatorService(index, volumes, leases, std::move(rules), Memory()) {}
  CoordinatorService(OrderedStore& index, VolumeBook& volumes, LeaseOffice& leases,
                     VolumeRules rules, Memory memory)
      : index_(index),
        volumes_(volumes),
        leases_(leases),
        rules_(std::move(rules)),
        scans_(index, memory.rows_per_run),
        plan_memory_(memory.plan_candidates) {}

  // From now on hosts of `fleet` are served, each for its own volumes and runs only. Before that,
  // and without it, whoever can call is. Call before the service is reachable.
  void ServeFleet(Fleet& fleet) { fleet_ = &fleet; }

  grpc::Status GetAssignment(grpc::ServerContext* context, const v1::GetAssignmentRequest* request,
                             v1::GetAssignmentResponse* response) override;
  grpc::Status Sync(grpc::ServerContext* context, const v1::SyncRequest* request,
                    v1::SyncResponse* response) override;
  grpc::Status UploadExtents(grpc::ServerContext* context,
                             grpc::ServerReaderWriter<v1::UploadExtentsResponse,
                                                      v1::UploadExtentsRequest>* stream) override;
  grpc::Status ListIncompleteExtents(
      grpc::ServerContext* context, const v1::ListIncompleteExtentsRequest* request,
      grpc::ServerWriter<v1::ListIncompleteExtentsResponse>* writer) override;
  grpc::Status GetHeads(grpc::ServerContext* context, const v1::GetHeadsRequest* request,
                        grpc::ServerWriter<v1::GetHeadsResponse>* writer) override;
  grpc::Status UploadHits(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::UploadHitsResponse, v1::UploadHitsRequest>* stream) override;
  grpc::Status FetchPlan(grpc::ServerContext* context, const v1::FetchPlanRequest* request,
                         grpc::ServerWriter<v1::FetchPlanResponse>* writer) override;
  grpc::Status ReportResults(grpc::ServerContext* context,
                             grpc::ServerReaderWriter<v1::ReportResultsResponse,
                                                      v1::ReportResultsRequest>* stream) override;

 private:
  using UploadStream =
      grpc::ServerReaderWriter<v1::UploadExtentsResponse, v1::UploadExtentsRequest>;
  using HitStream = grpc::ServerReaderWriter<v1::UploadHitsResponse, v1::UploadHitsRequest>;
  using ResultStream =
      grpc::ServerReaderWriter<v1::ReportResultsResponse, v1::ReportResultsRequest>;

  // A volume that a request may work on.
  struct Admission {
    Volume* volume = nullptr;
    VolumeRecord record;
    int64_t epoch = 0;
  };

  // ABORTED: stale lease. FAILED_PRECONDITION: wrong incarnation.
  // PERMISSION_DENIED: the volume is another host's.
  absl::StatusOr<Admission> Admit(const grpc::ServerContext& context, const v1::Lease& lease,
                                  uint64_t incarnation);
  // The same under any lease.
  absl::StatusOr<Admission> AdmitFacts(const grpc::ServerContext& context, const v1::Lease& lease,
                                       uint64_t incarnation);
  // For the further messages of a stream. ABORTED: the lease was lost meanwhile.
  absl::Status Renew(const Admission& admission);

  // The host part of Sync.
  absl::Status SyncHost(const v1::SyncRequest& request, v1::SyncResponse& response);
  absl::Status SyncVolume(const std::string& worker, const v1::VolumeState& state,
                          v1::VolumeOrder& order);
  // The caller may speak of the volume. PERMISSION_DENIED.
  absl::Status CheckSpeaksOf(const grpc::ServerContext& context, const VolumeUuid& volume) const;
  absl::Status UploadScan(const grpc::ServerContext& context, const v1::BeginUpload& begin,
                          UploadStream& stream);
  absl::Status UploadSweep(const grpc::ServerContext& context, const v1::BeginUpload& begin,
                           UploadStream& stream);
  absl::Status StreamPlan(const grpc::ServerContext& context, const v1::FetchPlanRequest& request,
                          grpc::ServerWriter<v1::FetchPlanResponse>& writer);
  absl::Status StreamHits(const grpc::ServerContext& context, HitStream& stream);
  absl::Status StreamResults(const grpc::ServerContext& context, ResultStream& stream);
  absl::Status StreamHeads(const grpc::ServerContext& context, const v1::GetHeadsRequest& request,
                           grpc::ServerWriter<v1::GetHeadsResponse>& writer);
  absl::Status StreamIncomplete(const grpc::ServerContext& context,
                                const v1::ListIncompleteExtentsRequest& request,
                                grpc::ServerWriter<v1::ListIncompleteExtentsResponse>& writer);

  OrderedStore& index_;
  VolumeBook& volumes_;
  LeaseOffice& leases_;
  const VolumeRules rules_;
  ScanWriter scans_;
  PlanMemory plan_memory_;
  Fleet* fleet_ = nullptr;  // not owned; null without a fleet
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_COORDINATOR_SERVICE_H_
