// What must hold for the rows of a volume after whatever happened.

#ifndef ONEFOLD_COORDINATOR_TESTING_INDEX_INVARIANTS_H_
#define ONEFOLD_COORDINATOR_TESTING_INDEX_INVARIANTS_H_

#include <map>
#include <string>
#include <vector>

#include "coordinator/ordered_store.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

// All rows whose key begins with `prefix`.
std::map<std::string, std::string> RowsWith(const OrderedStore& store, absl::string_view prefix);

// Derives all other rows and all counters from the extents, and names what differs. Empty is good.
std::vector<std::string> Violations(const OrderedStore& store, const VolumeRecord& record);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_TESTING_INDEX_INVARIANTS_H_
