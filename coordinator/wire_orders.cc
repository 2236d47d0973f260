#include "coordinator/wire_orders.h"

#include <utility>

#include "common/status_macros.h"
#include "coordinator/inside_plan.h"
#include "coordinator/whole_plan.h"

namespace onefold::index {

void WriteLease(const VolumeUuid& uuid, int64_t epoch, absl::Duration ttl, v1::Lease& lease) {
  lease.set_volume_uuid(ToBytes(uuid));
  lease.set_epoch(epoch);
  lease.mutable_ttl()->set_seconds(absl::ToInt64Seconds(ttl));
}

void WriteOrder(const VolumeRecord& record, v1::VolumeOrder& order) {
  order.set_incarnation(record.incarnation());
  order.set_scanned_generation(record.scanned_generation());
  order.set_resume_address(record.resume_address_blocks() *
                           static_cast<uint64_t>(record.block_bytes()));
  order.set_resume_generation(record.resume_generation());
  order.set_extent_count(record.extent_count());
  order.set_extent_bytes(record.extent_blocks() * record.block_bytes());
  order.set_queued_count(record.queue().queued_count());
  order.set_head_count(record.head_count());
  order.set_new_head_count(record.new_head_count());
}

void WriteTotals(const VolumeRecord& record, v1::UploadExtentsResponse& response) {
  response.set_ended(true);
  response.set_extent_count(record.extent_count());
  response.set_extent_bytes(record.extent_blocks() * record.block_bytes());
  response.set_queued_count(record.queue().queued_count());
  response.set_head_count(record.head_count());
  response.set_new_head_count(record.new_head_count());
}

void WriteSummary(const VolumeRecord& record, v1::ReportResultsResponse& response) {
  response.set_ended(true);
  response.set_extent_count(record.extent_count());
  for (const storage::v1::PinnedRecord& pinned : record.pinned()) {
    if (pinned.extent_count() == 0) continue;
    const std::string& holder = v1::Holder_Name(static_cast<v1::Holder>(pinned.holder()));
    (*response.mutable_pinned_extents())[holder] = pinned.extent_count();
    (*response.mutable_pinned_bytes())[holder] = pinned.block_count() * record.block_bytes();
  }
  const auto write_incomplete = [&](v1::ChecksumState state, int64_t count) {
    if (count > 0) (*response.mutable_incomplete_extents())[v1::ChecksumState_Name(state)] = count;
  };
  write_incomplete(v1::CHECKSUM_STATE_NONE, record.without_checksums_count());
  write_incomplete(v1::CHECKSUM_STATE_PARTIAL, record.partial_checksums_count());
}

absl::StatusOr<PlanQuery> ParseFetchPlan(const v1::FetchPlanRequest& request) {
  PlanQuery query;
  switch (request.kind()) {
    case v1::PLAN_KIND_WHOLE: query.kind = PlanKind::kWhole; break;
    case v1::PLAN_KIND_INSIDE: query.kind = PlanKind::kInside; break;
    default: return absl::InvalidArgumentError("kind: unknown");
  }
  if (!request.after_position().empty()) {
    ASSIGN_OR_RETURN(query.after, ParsePosition(request.after_position()));
  }
  return query;
}

absl::StatusOr<std::unique_ptr<PlanStream>> OpenPlan(const OrderedStore& store, Volume& volume,
                                                     uint64_t incarnation, const PlanQuery& query,
                                                     size_t candidates_max) {
  if (!query.after) {
    RETURN_IF_ERROR(volume.Note(incarnation, [&](VolumeRecord& record) {
      const bool any_match = query.kind == PlanKind::kInside && record.has_matches();
      if (any_match || MayWait(record.queue(), query.kind)) {
        BeginPlan(*record.mutable_queue(), query.kind);
      }
    }));
  }
  std::unique_ptr<PlanSource> source =
      query.kind == PlanKind::kWhole ? NewWholePlan(store, volume) : NewInsidePlan(store, volume);
  return std::make_unique<PlanStream>(std::move(source), volume.Record().block_bytes(), query.after,
                                      candidates_max);
}

}  // namespace onefold::index
