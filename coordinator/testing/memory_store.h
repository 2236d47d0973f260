// An OrderedStore in memory: right, but not durable. Thread-safe.

#ifndef ONEFOLD_COORDINATOR_TESTING_MEMORY_STORE_H_
#define ONEFOLD_COORDINATOR_TESTING_MEMORY_STORE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/mutex.h"
#include "coordinator/keys.h"
#include "coordinator/ordered_store.h"

namespace onefold::index {

class MemoryStore final : public OrderedStore {
 public:
  std::unique_ptr<StoreCursor> Walk(absl::string_view prefix) const override {
    MutexLock lock(&mutex_);
    seen_ = true;
    return std::make_unique<Cursor>(rows_, std::string(prefix), /*walks=*/true);
  }
  std::unique_ptr<StoreCursor> LookUp() const override {
    MutexLock lock(&mutex_);
    seen_ = true;
    return std::make_unique<Cursor>(rows_, "", /*walks=*/false);
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    MutexLock lock(&mutex_);
    const auto row = rows_->find(std::string(key));
    if (row == rows_->end()) return std::nullopt;
    return row->second;
  }

  absl::Status Write(const RowBatch& batch) override {
    MutexLock lock(&mutex_);
    if (!write_status_.ok()) return write_status_;
    Rows& rows = OwnRows();
    for (size_t i = 0; i < batch.size(); ++i) {
      const RowBatch::Change change = batch[i];
      if (change.is_put) {
        rows[std::string(change.key)] = std::string(change.value);
      } else {
        rows.erase(std::string(change.key));
      }
    }
    return absl::OkStatus();
  }

  absl::Status DropRange(absl::string_view begin, absl::string_view end) override {
    MutexLock lock(&mutex_);
    Rows& rows = OwnRows();
    rows.erase(rows.lower_bound(std::string(begin)), rows.lower_bound(std::string(end)));
    return absl::OkStatus();
  }

  absl::Status Compact() override { return absl::OkStatus(); }

  // Every Write answers `status` from now on; OK ends that.
  void FailWrites(absl::Status status) {
    MutexLock lock(&mutex_);
    write_status_ = std::move(status);
  }

  std::map<std::string, std::string> rows() const {
    MutexLock lock(&mutex_);
    return *rows_;
  }

 private:
  using Rows = std::map<std::string, std::string>;

  class Cursor final : public StoreCursor {
   public:
    Cursor(std::shared_ptr<const Rows> rows, std::string prefix, bool walks)
        : rows_(std::move(rows)),
          prefix_(std::move(prefix)),
          walks_(walks),
          at_(walks ? rows_->lower_bound(prefix_) : rows_->end()) {}
    void Seek(absl::string_view key) override {
      at_ = rows_->lower_bound(std::string(key));
      if (!walks_) prefix_ = std::string(key.substr(0, kKeyPrefixBytes));
    }
    void Next() override { ++at_; }
    bool Valid() const override {
      return at_ != rows_->end() && at_->first.compare(0, prefix_.size(), prefix_) == 0;
    }
    absl::string_view key() const override { return at_->first; }
    absl::string_view value() const override { return at_->second; }
    absl::Status status() const override { return absl::OkStatus(); }

   private:
    const std::shared_ptr<const Rows> rows_;
    std::string prefix_;
    const bool walks_;
    Rows::const_iterator at_;
  };

  // To be changed: a copy if cursors may look at what is there.
  Rows& OwnRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(seen_, false)) rows_ = std::make_shared<Rows>(*rows_);
    return *rows_;
  }

  mutable Mutex mutex_;
  std::shared_ptr<Rows> rows_ ABSL_GUARDED_BY(mutex_) = std::make_shared<Rows>();
  mutable bool seen_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status write_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_TESTING_MEMORY_STORE_H_
