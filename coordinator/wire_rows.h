// Rows between the wire and the index. Everything a worker sends is checked here, once, before it
// is used; INVALID_ARGUMENT says which column and what is wrong with it.
//
// Pure functions.

#ifndef ONEFOLD_COORDINATOR_WIRE_ROWS_H_
#define ONEFOLD_COORDINATOR_WIRE_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/uuid.h"
#include "coordinator/head_matcher.h"
#include "coordinator/outcome_recorder.h"
#include "coordinator/plan_stream.h"
#include "coordinator/rows.h"
#include "coordinator/sweep.h"
#include "onefold/v1/extents.pb.h"
#include "onefold/v1/plan.pb.h"
#include "onefold/v1/volume.pb.h"

namespace onefold::index {

// Windows of one batch: what fits in a message of 4 MiB.
inline constexpr int kHitsPerBatchMax = 262144;

absl::StatusOr<VolumeUuid> ParseUuid(absl::string_view bytes);
// Checks uuid, block size and checksum kind.
absl::StatusOr<VolumeUuid> ParseVolumeState(const v1::VolumeState& state);
// Bytes to blocks, rounded down.
absl::StatusOr<uint64_t> ParseAddress(uint64_t address_bytes, int32_t block_bytes);

absl::StatusOr<std::vector<Extent>> ParseScanRows(const v1::ExtentColumns& columns,
                                                  int32_t block_bytes);
absl::StatusOr<std::vector<ListedExtent>> ParseSweepRows(const v1::ExtentColumns& columns,
                                                         int32_t block_bytes);
absl::StatusOr<std::vector<Hit>> ParseHits(const v1::HitBatch& batch);
absl::StatusOr<std::vector<ExtentResult>> ParseResults(const v1::ResultBatch& batch);
absl::StatusOr<PlanEnd> ParsePlanEnd(const v1::EndPlan& end);

void WriteIncomplete(const std::vector<Extent>& extents, v1::ExtentColumns& columns);
void WriteGroup(const PlanGroup& group, v1::Group& message);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_WIRE_ROWS_H_
