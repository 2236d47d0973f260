#include "coordinator/query/scratch_store.h"

#include <utility>

#include "coordinator/keys.h"

namespace onefold::query {
namespace {

using Rows = std::map<std::string, std::string, std::less<>>;

class Cursor final : public index::StoreCursor {
 public:
  Cursor(std::shared_ptr<const Rows> rows, absl::string_view prefix, bool walks)
      : rows_(std::move(rows)),
        prefix_(prefix),
        walks_(walks),
        at_(walks ? rows_->lower_bound(prefix) : rows_->end()) {}

  void Seek(absl::string_view key) override {
    at_ = rows_->lower_bound(key);
    if (!walks_) prefix_ = std::string(key.substr(0, index::kKeyPrefixBytes));
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

}  // namespace

std::shared_ptr<const Rows> ScratchStore::Snapshot() const {
  MutexLock lock(&mutex_);
  return rows_;
}

Rows& ScratchStore::Change() {
  if (rows_.use_count() > 1) rows_ = std::make_shared<Rows>(*rows_);
  return *rows_;
}

std::unique_ptr<index::StoreCursor> ScratchStore::Walk(absl::string_view prefix) const {
  return std::make_unique<Cursor>(Snapshot(), prefix, /*walks=*/true);
}

std::unique_ptr<index::StoreCursor> ScratchStore::LookUp() const {
  return std::make_unique<Cursor>(Snapshot(), "", /*walks=*/false);
}

absl::StatusOr<std::optional<std::string>> ScratchStore::Get(absl::string_view key) const {
  MutexLock lock(&mutex_);
  const auto row = rows_->find(key);
  if (row == rows_->end()) return std::nullopt;
  return row->second;
}

absl::Status ScratchStore::Write(const index::RowBatch& batch) {
  MutexLock lock(&mutex_);
  Rows& rows = Change();
  for (size_t i = 0; i < batch.size(); ++i) {
    const index::RowBatch::Change change = batch[i];
    if (change.is_put) {
      rows.insert_or_assign(std::string(change.key), std::string(change.value));
    } else {
      rows.erase(std::string(change.key));
    }
  }
  return absl::OkStatus();
}

absl::Status ScratchStore::DropRange(absl::string_view begin, absl::string_view end) {
  MutexLock lock(&mutex_);
  Rows& rows = Change();
  rows.erase(rows.lower_bound(begin), rows.lower_bound(end));
  return absl::OkStatus();
}

}  // namespace onefold::query
