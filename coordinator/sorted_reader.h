// SortedReader: finds many keys that come in ascending order, whether they lie close together (then
// it walks) or far apart (then it jumps). A walk of a step costs a tenth of a jump.
//
// Sees the store as it was when the reader was made. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_SORTED_READER_H_
#define ONEFOLD_COORDINATOR_SORTED_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/keys.h"
#include "coordinator/ordered_store.h"
#include "coordinator/rows.h"

namespace onefold::index {

class SortedReader {
 public:
  // Among rows with `prefix`.
  SortedReader(const OrderedStore& store, absl::string_view prefix)
      : walks_(true), rows_(store.Walk(prefix)) {}
  // For keys that are far apart for certain: it always jumps, and Next stays among rows with the
  // prefix of the key sought (OrderedStore::LookUp).
  explicit SortedReader(const OrderedStore& store) : walks_(false), rows_(store.LookUp()) {}

  // Moves to the first row whose key is not below `key` and returns whether it is exactly that.
  // Going back works too, at the price of a jump.
  absl::StatusOr<bool> Find(absl::string_view key);

  // Moves to the next row. Requires row().Valid().
  void Next();

  // The row moved to.
  const StoreCursor& row() const { return *rows_; }

 private:
  const bool walks_;
  const std::unique_ptr<StoreCursor> rows_;
  // There is no row between this key and the one moved to.
  std::string gap_begin_;
  bool positioned_ = false;
};

// An extent and whether it stands in the list of waiting ones.
struct IndexedExtent {
  Extent extent;
  std::optional<Waiting> waiting;
};

// Finds extents of one volume by ascending address. Not thread-safe.
class ExtentReader {
 public:
  // `with_waiting`: whether to look for rows W at all.
  ExtentReader(const OrderedStore& store, VolumeNumber volume, bool with_waiting);

  // nullopt if there is no extent at `address`.
  absl::StatusOr<std::optional<IndexedExtent>> Find(uint64_t address);

 private:
  const VolumeNumber volume_;
  SortedReader extents_;
  std::optional<SortedReader> waiting_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_SORTED_READER_H_
