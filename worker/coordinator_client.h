// CoordinatorClient: the worker's end of the conversation in proto/onefold/v1/, in plain values.
// Real: GrpcCoordinatorClient (grpc_coordinator_client.h). One object serves one volume; the lease
// it got from Sync goes along with every call.
//
// Not thread-safe, but for ReportResults, which any thread may call. All calls block.

#ifndef ONEFOLD_WORKER_COORDINATOR_CLIENT_H_
#define ONEFOLD_WORKER_COORDINATOR_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/head_filter.h"
#include "common/uuid.h"
#include "worker/fingerprint.h"
#include "worker/outcome.h"

namespace onefold {

// onefold.v1.VolumeState.
struct VolumeState {
  VolumeUuid uuid;
  int32_t block_bytes = 0;
  int32_t checksum_kind = 0;
  uint64_t subvolume_set_digest = 0;
  uint64_t scope_digest = 0;
  bool reconsider_all = false;
  int64_t filesystem_generation = 0;
  bool run_begins = false;  // see onefold/v1/volume.proto
};

// What the index holds of a volume (onefold.v1.VolumeOrder).
struct IndexTotals {
  int64_t extent_count = 0;
  int64_t extent_bytes = 0;
  int64_t queued_count = 0;
  int64_t head_count = 0;
  int64_t new_head_count = 0;
};

struct VolumeOrder {
  bool leased = false;
  int64_t scanned_generation = 0;
  uint64_t resume_address = 0;
  int64_t resume_generation = 0;
  IndexTotals totals;
};

enum class ChecksumState { kComplete = 0, kNone = 1, kPartial = 2 };

// One extent on its way to the index. `fingerprint` is read only for complete checksums.
struct ExtentRow {
  uint64_t address = 0;  // bytes
  uint32_t length_blocks = 0;
  uint64_t generation = 0;
  ChecksumState state = ChecksumState::kComplete;
  const Fingerprint* fingerprint = nullptr;
};

struct IncompleteExtent {
  uint64_t address = 0;  // bytes
  uint32_t length_blocks = 0;
  uint64_t generation = 0;
  ChecksumState state = ChecksumState::kNone;
};

// An upload under way. Add may block while the coordinator is behind.
class ExtentUpload {
 public:
  virtual ~ExtentUpload() = default;
  // Ascending addresses within a run of calls; a lower address than before starts a new run.
  virtual absl::Status Add(const ExtentRow& row) = 0;
  // Every extent below `address` that the upload is about has been added: an upload that breaks off
  // is resumed there.
  virtual absl::Status CompleteBelow(uint64_t address) = 0;
  // Ends it: the cursor moves to the target generation. All is durable when it returns.
  virtual absl::StatusOr<IndexTotals> End() = 0;
};

class HitUpload {
 public:
  virtual ~HitUpload() = default;
  virtual absl::Status Add(uint64_t window_digest, uint64_t address, uint32_t offset_blocks) = 0;
  virtual absl::Status End() = 0;
};

struct HeadQuery {
  HeadFilter filter;
  uint32_t window_lengths = 0;  // bit n-1: windows of n blocks are needed
};

struct GroupMember {
  uint64_t address = 0;  // bytes
  uint32_t length_blocks = 0;
  uint64_t generation = 0;
  bool kept_before = false;
  bool queued = false;
  int64_t delta_blocks = 0;
};

// onefold.v1.Group.
struct Group {
  std::string position;
  std::vector<GroupMember> members;
  bool paged = false;
  uint64_t digest = 0;
};

enum class PlanKind { kWhole = 1, kInside = 2 };

class PlanReader {
 public:
  virtual ~PlanReader() = default;
  // The next groups; none at the end of the plan.
  virtual absl::StatusOr<std::vector<Group>> Next() = 0;
  // Estimates, known after the first Next.
  virtual int64_t group_count() const = 0;
  virtual int64_t expected_bytes() const = 0;
};

struct ExtentResult {
  uint64_t address = 0;
  uint64_t generation = 0;
  Outcome outcome = Outcome::kRetry;
  Holder holder = Holder::kNone;
  int64_t disk_bytes = 0;  // of a pinned extent, for this side's own figures; does not travel
};

// What holds for the volume when a plan was worked through.
struct PlanEnd {
  bool inside = false;  // PlanKind::kInside was worked through too
};
struct PlanSummary {
  std::map<std::string, int64_t> pinned_bytes;  // holder ("outside_files") → bytes
  std::map<std::string, int64_t>
      incomplete_extents;  // "no_checksums", "partial_checksums" → extents
  int64_t extent_count = 0;
};

class CoordinatorClient {
 public:
  virtual ~CoordinatorClient() = default;

  virtual absl::StatusOr<VolumeOrder> Sync(const VolumeState& state) = 0;
  virtual absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginScan(int64_t target_generation) = 0;
  // A sweep needs address, length and generation of rows only.
  virtual absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginSweep() = 0;
  virtual absl::StatusOr<std::vector<IncompleteExtent>> ListIncompleteExtents() = 0;
  virtual absl::StatusOr<HeadQuery> GetHeads() = 0;
  virtual absl::StatusOr<std::unique_ptr<HitUpload>> BeginHits(bool full) = 0;
  virtual absl::StatusOr<std::unique_ptr<PlanReader>> FetchPlan(PlanKind kind) = 0;
  // Durable when it returns. Repeating is harmless.
  virtual absl::Status ReportResults(absl::Span<const ExtentResult> results) = 0;
  virtual absl::StatusOr<PlanSummary> EndPlan(const PlanEnd& end) = 0;
  // The same figures of a volume whose plan was not worked through to its end. Ends nothing.
  virtual absl::StatusOr<PlanSummary> Summarize() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_COORDINATOR_CLIENT_H_
