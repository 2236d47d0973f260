// What workers read of the index beside plans.

#ifndef ONEFOLD_COORDINATOR_INDEX_READERS_H_
#define ONEFOLD_COORDINATOR_INDEX_READERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/head_filter.h"
#include "coordinator/ordered_store.h"
#include "coordinator/sorted_reader.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

struct Heads {
  HeadFilter filter;
  uint32_t window_lengths = 0;  // bit n-1: there are heads of n blocks
};

// The heads of all extents of a volume.
absl::StatusOr<Heads> ReadHeads(const OrderedStore& store, const VolumeRecord& record);

// Extents without complete checksums, by ascending address, as they are when the reader is made.
// Not thread-safe.
class IncompleteReader {
 public:
  IncompleteReader(const OrderedStore& store, VolumeNumber volume);

  // At most `count_max` more; none at the end.
  absl::StatusOr<std::vector<Extent>> Next(size_t count_max);

 private:
  const std::unique_ptr<StoreCursor> rows_;
  ExtentReader extents_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_INDEX_READERS_H_
