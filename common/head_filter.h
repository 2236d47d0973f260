// HeadFilter: a blocked Bloom filter over head digests; its format is that of GetHeadsResponse
// (proto/onefold/v1/extents.proto). The coordinator builds it, the worker asks it about every
// window of every extent, so one question touches one cache line.
//
// Not thread-safe while being built; afterwards any thread may ask.

#ifndef ONEFOLD_COMMON_HEAD_FILTER_H_
#define ONEFOLD_COMMON_HEAD_FILTER_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/limits.h"

namespace onefold {

class HeadFilter {
 public:
  // An empty filter for about `head_count` heads: 16 bits each, at most kHeadFilterBytesMax.
  static HeadFilter ForHeads(int64_t head_count) {
    const int64_t bytes = std::clamp(head_count * 2, kHeadFilterBlockBytes, kHeadFilterBytesMax);
    return HeadFilter(std::string(
        (bytes + kHeadFilterBlockBytes - 1) / kHeadFilterBlockBytes * kHeadFilterBlockBytes, '\0'));
  }

  // A filter from its bytes, whose size is a positive multiple of kHeadFilterBlockBytes.
  explicit HeadFilter(std::string bits)
      : bits_(std::move(bits)), block_count_(bits_.size() / kHeadFilterBlockBytes) {
    CHECK(block_count_ > 0 && bits_.size() % kHeadFilterBlockBytes == 0);
  }

  void Add(uint64_t digest) {
    for (int i = 0; i < 3; ++i) {
      const uint64_t bit = (digest >> (9 * i)) & 511;
      bits_[Block(digest) + bit / 8] |= static_cast<char>(1 << (bit % 8));
    }
  }

  bool MayContain(uint64_t digest) const {
    const char* block = bits_.data() + Block(digest);
    for (int i = 0; i < 3; ++i) {
      const uint64_t bit = (digest >> (9 * i)) & 511;
      if ((block[bit / 8] & (1 << (bit % 8))) == 0) return false;
    }
    return true;
  }

  int64_t block_count() const { return static_cast<int64_t>(block_count_); }
  absl::string_view bytes() const { return bits_; }

 private:
  size_t Block(uint64_t digest) const {
    return static_cast<size_t>(((digest >> 32) * block_count_) >> 32) * kHeadFilterBlockBytes;
  }

  std::string bits_;
  uint64_t block_count_;
};

}  // namespace onefold

#endif  // ONEFOLD_COMMON_HEAD_FILTER_H_
