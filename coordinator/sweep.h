// Sweep: removes from the index what is on the disk no more. The worker lists every extent of the
// volume in address order (metadata alone, no checksums); what the index has in between, or has of
// another generation, is gone. Extents that the index does not know are the business of scans.
//
// Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_SWEEP_H_
#define ONEFOLD_COORDINATOR_SWEEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/ordered_store.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

struct ListedExtent {
  uint64_t address = 0;
  uint64_t generation = 0;
};

class Sweep {
 public:
  struct Options {
    uint64_t incarnation = 0;
    // Extents above this generation may have come after the list was made: they stay. 0: none did.
    int64_t target_generation = 0;
  };

  // `store` and `volume` must outlive the sweep.
  Sweep(const OrderedStore& store, Volume& volume, Options options)
      : store_(store), volume_(volume), options_(options) {}

  // Ascending rows, not below what was complete before; the list is complete below `complete_below`
  // and up to the last row. What is missing is removed, durably when it returns.
  //
  // INVALID_ARGUMENT: the rows go back.
  absl::Status Add(const std::vector<ListedExtent>& rows, uint64_t complete_below);

  // The list was complete: removes what lies behind its last row.
  absl::Status End();

  uint64_t durable_below() const { return next_; }
  int64_t deleted_count() const { return deleted_count_; }

 private:
  // Removes what is in [next_, end) and not in `rows`.
  absl::Status RemoveMissing(const std::vector<ListedExtent>& rows, uint64_t end);

  const OrderedStore& store_;
  Volume& volume_;
  const Options options_;
  uint64_t next_ = 0;  // swept below this address, in blocks
  int64_t deleted_count_ = 0;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_SWEEP_H_
