// OrderedStore: rows ordered by key, durable, written in atomic batches. All the index needs of a
// database. Real: RocksStore (rocks_store.h). Tests: MemoryStore (testing/memory_store.h), which
// passes the same contract suite but forgets.

#ifndef ONEFOLD_COORDINATOR_ORDERED_STORE_H_
#define ONEFOLD_COORDINATOR_ORDERED_STORE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/row_batch.h"

namespace onefold::index {

// Walks rows in key order. Sees the store as it was when the cursor was made, whatever is written
// meanwhile; it keeps that state on disk, so let it go soon. Not thread-safe.
class StoreCursor {
 public:
  virtual ~StoreCursor() = default;
  // Moves to the first row whose key is not below `key`, if the cursor may visit it.
  virtual void Seek(absl::string_view key) = 0;
  // Requires Valid().
  virtual void Next() = 0;
  // False at the end, and after an error: then status() tells.
  virtual bool Valid() const = 0;
  // Valid until the cursor moves.
  virtual absl::string_view key() const = 0;
  virtual absl::string_view value() const = 0;
  // DATA_LOSS: the database is damaged.
  virtual absl::Status status() const = 0;
};

// Thread-safe.
class OrderedStore {
 public:
  virtual ~OrderedStore() = default;

  // Visits rows whose keys begin with `prefix`; stands at the first of them. For many neighbours.
  virtual std::unique_ptr<StoreCursor> Walk(absl::string_view prefix) const = 0;

  // After each Seek visits rows that share the first kKeyPrefixBytes with the key sought. Stands
  // nowhere at first. To seek what is absent costs no I/O.
  virtual std::unique_ptr<StoreCursor> LookUp() const = 0;

  // The value of `key`, or nullopt.
  virtual absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const = 0;

  // Durable when it returns OK; nothing of it is there otherwise.
  //
  // RESOURCE_EXHAUSTED  the disk is full.
  virtual absl::Status Write(const RowBatch& batch) = 0;

  // Deletes all rows with begin <= key < end. Not atomic; for rows that nobody looks at any more.
  virtual absl::Status DropRange(absl::string_view begin, absl::string_view end) = 0;

  // Gives the space of deleted rows back where that is worth it.
  virtual absl::Status Compact() = 0;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ORDERED_STORE_H_
