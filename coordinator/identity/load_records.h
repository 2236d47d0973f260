// LoadRecords: the rows of one kind in `state`, as a book of the identity holds them.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_LOAD_RECORDS_H_
#define ONEFOLD_COORDINATOR_IDENTITY_LOAD_RECORDS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/ordered_store.h"

namespace onefold::identity {

// Adds each row whose key begins with `prefix` to `records`, a map from what follows in the key to
// the message that is the row's value. DATA_LOSS: a row is damaged.
template <typename Records>
absl::Status LoadRecords(const index::OrderedStore& state, absl::string_view prefix,
                         Records& records) {
  const std::unique_ptr<index::StoreCursor> cursor = state.Walk(prefix);
  for (; cursor->Valid(); cursor->Next()) {
    typename Records::mapped_type record;
    if (!record.ParseFromArray(cursor->value().data(), static_cast<int>(cursor->value().size()))) {
      return absl::DataLossError("a row is damaged");
    }
    records[std::string(cursor->key().substr(prefix.size()))] = std::move(record);
  }
  return cursor->status();
}

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_LOAD_RECORDS_H_
