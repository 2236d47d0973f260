// Answers about a volume as a whole, and questions for a plan, between the wire and the index.

#ifndef ONEFOLD_COORDINATOR_WIRE_ORDERS_H_
#define ONEFOLD_COORDINATOR_WIRE_ORDERS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/uuid.h"
#include "coordinator/plan_stream.h"
#include "coordinator/volume_book.h"
#include "coordinator/work_queue.h"
#include "onefold/v1/coordinator_service.pb.h"

namespace onefold::index {

void WriteLease(const VolumeUuid& uuid, int64_t epoch, absl::Duration ttl, v1::Lease& lease);
void WriteOrder(const VolumeRecord& record, v1::VolumeOrder& order);
// The last answer to an upload.
void WriteTotals(const VolumeRecord& record, v1::UploadExtentsResponse& response);
// The answer to the end of a plan.
void WriteSummary(const VolumeRecord& record, v1::ReportResultsResponse& response);

struct PlanQuery {
  PlanKind kind = PlanKind::kWhole;
  std::optional<PlanPosition> after;
};
absl::StatusOr<PlanQuery> ParseFetchPlan(const v1::FetchPlanRequest& request);

// Begins a plan, or goes on with one. `store` and `volume` must outlive the stream.
absl::StatusOr<std::unique_ptr<PlanStream>> OpenPlan(const OrderedStore& store, Volume& volume,
                                                     uint64_t incarnation, const PlanQuery& query,
                                                     size_t candidates_max = kCandidatesMax);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_WIRE_ORDERS_H_
