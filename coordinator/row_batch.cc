#include "coordinator/row_batch.h"

#include <algorithm>

#include "common/bytes.h"

namespace onefold::index {
namespace {

// A key in a form that compares without touching it: its first 16 bytes, and where the rest is.
struct SortKey {
  uint64_t first = 0;
  uint64_t second = 0;
  uint32_t change = 0;
};

uint64_t EightBytes(absl::string_view key, size_t at) {
  if (key.size() >= at + 8) return LoadBig64(key.data() + at);
  char padded[8] = {};
  if (key.size() > at) key.copy(padded, 8, at);
  return LoadBig64(padded);
}

}  // namespace

std::vector<uint32_t> RowBatch::KeyOrder() const {
  std::vector<SortKey> keys;
  keys.reserve(size());
  for (uint32_t i = 0; i < size(); ++i) {
    const absl::string_view key = (*this)[i].key;
    keys.push_back({.first = EightBytes(key, 0), .second = EightBytes(key, 8), .change = i});
  }
  std::sort(keys.begin(), keys.end(), [this](const SortKey& a, const SortKey& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.second != b.second) return a.second < b.second;
    const int order = (*this)[a.change].key.compare((*this)[b.change].key);
    return order != 0 ? order < 0 : a.change < b.change;
  });
  std::vector<uint32_t> changes;
  changes.reserve(keys.size());
  for (const SortKey& key : keys) {
    if (!changes.empty() && (*this)[changes.back()].key == (*this)[key.change].key) {
      changes.back() = key.change;
    } else {
      changes.push_back(key.change);
    }
  }
  return changes;
}

}  // namespace onefold::index
