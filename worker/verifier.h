// Verifier: after a commit, which of the dropped extents are really gone. Nothing counts as freed
// before the extent tree says so.

#ifndef ONEFOLD_WORKER_VERIFIER_H_
#define ONEFOLD_WORKER_VERIFIER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/settle.h"
#include "worker/volume.h"

namespace onefold {

// A drop whose references were moved, waiting for the commit. Small: many wait at a time.
struct PendingDrop {
  uint64_t address = 0;
  uint64_t generation = 0;
  int64_t disk_bytes = 0;
  int64_t shared_bytes = 0;
  int64_t reference_bytes = 0;
  bool moved = false;  // all moves were answered "same"
  PlanKind kind = PlanKind::kWhole;
  GroupMember self;
  GroupMember partner;
};

// For each of `pending` (any order), whether its extent is gone: the address is absent from the
// extent tree, or holds another generation. Call after a commit.
absl::StatusOr<std::vector<bool>> FindGone(Volume& volume, const std::vector<PendingDrop>& pending);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_VERIFIER_H_
