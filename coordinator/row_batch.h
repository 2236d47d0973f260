// RowBatch: changes to an OrderedStore that take effect together or not at all.
//
// Keys and values lie one after another in large blocks: a batch of 100,000 rows costs a few
// allocations, not 200,000, and never copies what it holds. Movable. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_ROW_BATCH_H_
#define ONEFOLD_COORDINATOR_ROW_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onefold::index {

class RowBatch {
 public:
  struct Change {
    bool is_put = false;  // else the key is deleted
    absl::string_view key;
    absl::string_view value;
  };

  void Put(absl::string_view key, absl::string_view value) { Append(true, key, value); }
  // Deleting an absent key is harmless.
  void Delete(absl::string_view key) { Append(false, key, {}); }
  void Clear() { *this = RowBatch(); }
  // Takes back all but the first `count` changes.
  void Truncate(size_t count) { entries_.resize(count); }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // The changes in the order they were made; of two to one key the later one counts. Valid until
  // the batch changes.
  Change operator[](size_t i) const {
    const Entry& entry = entries_[i];
    return {.is_put = entry.is_put,
            .key = {entry.at, entry.key_bytes},
            .value = {entry.at + entry.key_bytes, entry.value_bytes}};
  }

  // Indices of the changes in key order; of several to one key only the last.
  std::vector<uint32_t> KeyOrder() const;

 private:
  struct Entry {
    const char* at = nullptr;
    uint32_t value_bytes = 0;
    uint16_t key_bytes = 0;
    bool is_put = false;
  };
  // Small enough for batches of one row, which are frequent, and large ones grow.
  static constexpr size_t kFirstBlockBytes = 512;
  static constexpr size_t kBlockBytesMax = 1 << 20;

  void Append(bool is_put, absl::string_view key, absl::string_view value) {
    const size_t bytes = key.size() + value.size();
    if (bytes > free_bytes_) AddBlock(bytes);
    entries_.push_back({.at = free_,
                        .value_bytes = static_cast<uint32_t>(value.size()),
                        .key_bytes = static_cast<uint16_t>(key.size()),
                        .is_put = is_put});
    key.copy(free_, key.size());
    value.copy(free_ + key.size(), value.size());
    free_ += bytes;
    free_bytes_ -= bytes;
  }

  void AddBlock(size_t bytes_min) {
    block_bytes_ = std::min(2 * block_bytes_, kBlockBytesMax);
    free_bytes_ = std::max(bytes_min, block_bytes_);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(free_bytes_));
    free_ = blocks_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_bytes_ = kFirstBlockBytes / 2;
  char* free_ = nullptr;  // in the last block
  size_t free_bytes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ROW_BATCH_H_
