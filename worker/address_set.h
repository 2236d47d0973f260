// AddressSet: addresses of extents, many of them neighbours: one bit each, 64 in a word. A plain
// hash set would take 20 bytes for each extent of a volume.
//
// Not thread-safe.

#ifndef ONEFOLD_WORKER_ADDRESS_SET_H_
#define ONEFOLD_WORKER_ADDRESS_SET_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace onefold {

class AddressSet {
 public:
  // Addresses are multiples of `block_bytes`.
  explicit AddressSet(int32_t block_bytes) : block_bytes_(static_cast<uint64_t>(block_bytes)) {}

  bool contains(uint64_t address) const {
    const auto word = words_.find(WordOf(address));
    return word != words_.end() && (word->second & BitOf(address)) != 0;
  }

  // Whether it is new.
  bool insert(uint64_t address) {
    uint64_t& word = words_[WordOf(address)];
    const bool is_new = (word & BitOf(address)) == 0;
    word |= BitOf(address);
    return is_new;
  }

  // What it takes: some 20 bytes for each.
  size_t word_count() const { return words_.size(); }

 private:
  uint64_t WordOf(uint64_t address) const { return address / block_bytes_ / 64; }
  uint64_t BitOf(uint64_t address) const { return uint64_t{1} << (address / block_bytes_ % 64); }

  uint64_t block_bytes_;
  absl::flat_hash_map<uint64_t, uint64_t> words_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_ADDRESS_SET_H_
