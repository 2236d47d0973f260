// RowBatch: changes to an OrderedStore that take effect together or not at all.
//
// Keys and values lie one after another in one buffer: a batch of 100,000 rows costs two
// allocations that grow, not 200,000. Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_ROW_BATCH_H_
#define ONEFOLD_COORDINATOR_ROW_BATCH_H_

#include <cstddef>
#include <cstdint>
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
  void Clear() {
    bytes_.clear();
    entries_.clear();
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  // The changes in the order they were made; of two to one key the later one counts. Valid until
  // the batch changes.
  Change operator[](size_t i) const {
    const Entry& entry = entries_[i];
    const absl::string_view bytes = bytes_;
    return {.is_put = entry.is_put,
            .key = bytes.substr(entry.at, entry.key_bytes),
            .value = bytes.substr(entry.at + entry.key_bytes, entry.value_bytes)};
  }

  // Indices of the changes in key order; of several to one key only the last.
  std::vector<uint32_t> KeyOrder() const;

 private:
  struct Entry {
    size_t at = 0;
    uint32_t value_bytes = 0;
    uint16_t key_bytes = 0;
    bool is_put = false;
  };

  void Append(bool is_put, absl::string_view key, absl::string_view value) {
    entries_.push_back({.at = bytes_.size(),
                        .value_bytes = static_cast<uint32_t>(value.size()),
                        .key_bytes = static_cast<uint16_t>(key.size()),
                        .is_put = is_put});
    bytes_.append(key.data(), key.size());
    bytes_.append(value.data(), value.size());
  }

  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ROW_BATCH_H_
