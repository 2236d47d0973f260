// ScratchStore: an OrderedStore in memory, for books that are made up to be looked at and thrown
// away: right, but nothing lasts. For thousands of rows.
//
// Thread-safe. Cursors see the rows as they were when the cursor was made.

#ifndef ONEFOLD_COORDINATOR_QUERY_SCRATCH_STORE_H_
#define ONEFOLD_COORDINATOR_QUERY_SCRATCH_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/mutex.h"
#include "coordinator/ordered_store.h"

namespace onefold::query {

class ScratchStore final : public index::OrderedStore {
 public:
  std::unique_ptr<index::StoreCursor> Walk(absl::string_view prefix) const override;
  std::unique_ptr<index::StoreCursor> LookUp() const override;
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override;
  absl::Status Write(const index::RowBatch& batch) override;
  absl::Status DropRange(absl::string_view begin, absl::string_view end) override;
  absl::Status Compact() override { return absl::OkStatus(); }

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;

  // For a cursor.
  std::shared_ptr<const Rows> Snapshot() const;
  // To be changed.
  Rows& Change() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // Copied before it is changed while a cursor looks at it.
  std::shared_ptr<Rows> rows_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Rows>();
};

}  // namespace onefold::query

#endif  // ONEFOLD_COORDINATOR_QUERY_SCRATCH_STORE_H_
