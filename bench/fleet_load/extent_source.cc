#include "bench/fleet_load/extent_source.h"

#include <algorithm>

#include "common/bytes.h"

namespace onefold::bench {
namespace {

constexpr uint64_t kBlockBytes = 4096;
constexpr int32_t kChecksumBytes = 4;
constexpr uint64_t kMeanBlocks = 16;
constexpr uint64_t kBlocksMax = 2048;
// Extents of one copied folder, on average.
constexpr uint64_t kCopiedTogether = 64;
// Extents that one transaction writes: generations grow slowly along the disk.
constexpr uint64_t kExtentsPerGeneration = 5000;

// SplitMix64: a number for each number.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Exponentially distributed with mean kMeanBlocks, in integers: the position of the first one in a
// row of coins, each of which falls with 1/16, is drawn sixteen coins at a time.
uint64_t LengthOf(uint64_t seed, uint64_t content) {
  uint64_t length = 1;
  for (uint64_t draw = Mix(seed ^ Mix(content)); length < kBlocksMax; draw = Mix(draw)) {
    for (int i = 0; i < 16; ++i, ++length) {
      if (((draw >> (4 * i)) & (kMeanBlocks - 1)) == 0) return std::min(length, kBlocksMax);
    }
  }
  return kBlocksMax;
}

}  // namespace

uint64_t ExtentSource::NextContent() {
  const auto own = static_cast<uint64_t>(next_ - duplicate_count_);  // all below it were there
  if (copies_left_ == 0 && own > 0) {
    const uint64_t draw = Mix(options_.seed + 3 * static_cast<uint64_t>(next_));
    // A folder begins so often that its extents make up the wanted share.
    const uint64_t parts = 100 * kCopiedTogether;
    if (draw % parts < static_cast<uint64_t>(options_.duplicate_percent)) {
      copied_ = Mix(draw) % own;
      copies_left_ = 1 + Mix(draw + 1) % (2 * kCopiedTogether);
    }
  }
  if (copied_ >= own) copies_left_ = 0;  // the folder ends here
  if (copies_left_ == 0) return own;
  --copies_left_;
  ++duplicate_count_;
  return copied_++;
}

bool ExtentSource::Next(ExtentRow& row) {
  if (next_ >= options_.extent_count) return false;
  const uint64_t content = NextContent();
  const uint64_t blocks = LengthOf(options_.seed, content);
  checksums_.clear();
  uint64_t random = Mix(options_.seed + Mix(content ^ 0xc0ffee));
  for (uint64_t i = 0; i < blocks; i += 2) AppendLittle64(checksums_, random = Mix(random));
  checksums_.resize(blocks * kChecksumBytes);
  MakeFingerprint(checksums_, kChecksumBytes, /*crc32c=*/true, fingerprint_);

  row = {.address = address_blocks_ * kBlockBytes,
         .length_blocks = static_cast<uint32_t>(blocks),
         .generation = 1000 + static_cast<uint64_t>(next_) / kExtentsPerGeneration,
         .fingerprint = &fingerprint_};
  // Here and there something was deleted.
  const uint64_t gap = Mix(options_.seed + 7 * static_cast<uint64_t>(next_));
  address_blocks_ += blocks + (gap % 8 == 0 ? gap / 8 % 32 : 0);
  block_count_ += static_cast<int64_t>(blocks);
  ++next_;
  return true;
}

}  // namespace onefold::bench
