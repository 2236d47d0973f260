// AnchorMatcher: looks for new extents inside old ones, without streaming the old ones again.
//
// Anchors are windows whose digest alone decides that they are indexed, so equal data picks equal
// anchors at any alignment. An anchor that two extents share says where one would lie in the other.
// Extents without anchors (most that are short) are not found this way; a full pass finds them.
//
// One matcher serves one Volume::Update. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_ANCHOR_MATCHER_H_
#define ONEFOLD_COORDINATOR_ANCHOR_MATCHER_H_

#include <cstdint>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "coordinator/ordered_store.h"
#include "coordinator/rows.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

class AnchorMatcher {
 public:
  // All must outlive the matcher. `store` is read as it was before the batch.
  AnchorMatcher(const OrderedStore& store, VolumeRecord& record, RowBatch& batch)
      : store_(store), record_(record), batch_(batch), volume_(NumberOf(record)) {}

  // Adds a match of `extent`, which is new, with every older extent that shares an anchor, up to
  // kPlacesPerHeadMax. One match lets the worker settle both directions.
  absl::Status MatchExtent(const Extent& extent);

 private:
  absl::Status MatchAnchor(const Extent& extent, const Anchor& anchor, std::set<MatchKey>& matches);
  absl::Status AddMatch(const Extent& extent, const MatchKey& key);

  const OrderedStore& store_;
  VolumeRecord& record_;
  RowBatch& batch_;
  const VolumeNumber volume_;
  std::unique_ptr<StoreCursor> anchors_;  // made when needed
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ANCHOR_MATCHER_H_
