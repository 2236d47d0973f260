#include "worker/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "common/limits.h"

namespace onefold {
namespace {

// crc32c of 4096 zero bytes, as btrfs stores it.
constexpr uint32_t kZeroBlockCrc32c = 0x98f94189;

}  // namespace

uint64_t ChecksumDigest(absl::string_view checksums) {
  const uint64_t digest = XXH3_64bits(checksums.data(), checksums.size());
  return digest == 0 ? 1 : digest;  // 0 means "none" wherever digests are kept
}

bool IsRepeatedBlock(absl::string_view checksums, int32_t checksum_bytes, int32_t blocks,
                     bool crc32c) {
  if (blocks == 1) {
    uint32_t first;
    if (!crc32c || checksums.size() < sizeof(first)) return false;
    std::memcpy(&first, checksums.data(), sizeof(first));
    return first == kZeroBlockCrc32c;
  }
  // All blocks equal: the run equals itself shifted by one block.
  return std::memcmp(checksums.data(), checksums.data() + checksum_bytes,
                     static_cast<size_t>(blocks - 1) * checksum_bytes) == 0;
}

void MakeFingerprint(absl::string_view checksums, int32_t checksum_bytes, bool crc32c,
                     Fingerprint& fingerprint) {
  const int64_t blocks = static_cast<int64_t>(checksums.size()) / checksum_bytes;
  fingerprint.digest = ChecksumDigest(checksums);
  fingerprint.head.reset();
  fingerprint.anchors.clear();
  const int32_t window = HeadWindowBlocks(blocks);
  if (blocks > window &&
      IsRepeatedBlock(checksums, checksum_bytes, static_cast<int32_t>(blocks), crc32c)) {
    return;
  }
  ForEachWindow(checksums, checksum_bytes, window, crc32c, [&](uint64_t digest, uint32_t offset) {
    const Window found{.digest = digest, .offset_blocks = offset};
    if (!fingerprint.head) fingerprint.head = found;
    if (window == kHeadBlocks && digest % kAnchorModulus == 0) {
      fingerprint.anchors.push_back(found);
    }
  });
}

}  // namespace onefold
