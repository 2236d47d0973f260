// QueryService: what dashboards ask, on the wire. Looks at the books through FleetView and at the
// index through CensusKeeper; changes nothing. Who may call what was decided before
// (coordinator/identity/grpc_door.h).

#ifndef ONEFOLD_COORDINATOR_QUERY_QUERY_SERVICE_H_
#define ONEFOLD_COORDINATOR_QUERY_QUERY_SERVICE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/clock.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/query/census_keeper.h"
#include "coordinator/query/fleet_view.h"
#include "onefold/v1/query_service.grpc.pb.h"

namespace onefold {

// Thread-safe.
class QueryService final : public v1::QueryService::Service {
 public:
  struct Parts {
    Clock& clock;
    Fleet& fleet;
    query::CensusKeeper& census;
    // Nobody takes one beside the work: take it when it is asked for, and let the caller wait.
    bool census_at_once = false;
    // Hosts that report, and those that have joined but never did, by name.
    std::function<std::vector<v1::Host>()> hosts;
    // From the record of a volume in the index.
    std::function<std::optional<query::IndexFigures>(const VolumeUuid&)> figures;
    std::string version;
    // Called before the books are looked at; may be empty.
    std::function<void()> refresh = {};
  };
  // All parts must outlive the service.
  explicit QueryService(Parts parts) : parts_(std::move(parts)) {}

  grpc::Status GetSummary(grpc::ServerContext* context, const v1::GetSummaryRequest* request,
                          v1::GetSummaryResponse* response) override;
  grpc::Status ListVolumes(grpc::ServerContext* context, const v1::ListVolumesRequest* request,
                           v1::ListVolumesResponse* response) override;
  grpc::Status GetVolume(grpc::ServerContext* context, const v1::GetVolumeRequest* request,
                         v1::GetVolumeResponse* response) override;
  grpc::Status QueryHosts(grpc::ServerContext* context, const v1::QueryHostsRequest* request,
                          v1::QueryHostsResponse* response) override;
  grpc::Status QueryRuns(grpc::ServerContext* context, const v1::QueryRunsRequest* request,
                         v1::QueryRunsResponse* response) override;
  grpc::Status GetRun(grpc::ServerContext* context, const v1::GetRunRequest* request,
                      v1::GetRunResponse* response) override;
  grpc::Status ListSchedule(grpc::ServerContext* context, const v1::ListScheduleRequest* request,
                            v1::ListScheduleResponse* response) override;
  grpc::Status GetHistory(grpc::ServerContext* context, const v1::GetHistoryRequest* request,
                          v1::GetHistoryResponse* response) override;
  grpc::Status ListDuplicates(grpc::ServerContext* context,
                              const v1::ListDuplicatesRequest* request,
                              v1::ListDuplicatesResponse* response) override;
  grpc::Status GetOverlap(grpc::ServerContext* context, const v1::GetOverlapRequest* request,
                          v1::GetOverlapResponse* response) override;
  grpc::Status WatchRuns(grpc::ServerContext* context, const v1::WatchRunsRequest* request,
                         grpc::ServerWriter<v1::WatchRunsResponse>* writer) override;

 private:
  // Null: none was taken yet.
  std::shared_ptr<const query::Census> PeekAtCensus() const;
  absl::StatusOr<std::shared_ptr<const query::Census>> GetCensus();
  void LookAtBooks(absl::FunctionRef<void(const Fleet::Glance&)> look) const;
  void Look(absl::FunctionRef<void(const query::FleetView&)> look) const;
  absl::StatusOr<v1::Volume> FindVolume(const std::string& name) const;
  // The figures of now as the last point.
  void AddPresent(const VolumeUuid& uuid, v1::GetHistoryResponse& response) const;
  absl::Status FillDuplicates(const v1::ListDuplicatesRequest& request,
                              v1::ListDuplicatesResponse& response);
  absl::Status FillOverlap(const v1::GetOverlapRequest& request, v1::GetOverlapResponse& response);

  const Parts parts_;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_QUERY_QUERY_SERVICE_H_
