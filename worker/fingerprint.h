// Fingerprints of extents, made from the checksums that btrfs already keeps.
//
// A digest is XXH3-64 over a run of block checksums: of a whole extent, or of a window (up to
// kHeadBlocks blocks). Equal digests mean "worth asking the kernel", never "equal bytes".
//
// Windows of one repeated block (zeros above all) say nothing and are skipped.
//
// Pure; any thread.

#ifndef ONEFOLD_WORKER_FINGERPRINT_H_
#define ONEFOLD_WORKER_FINGERPRINT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace onefold {

// Digest of a run of block checksums; never 0.
uint64_t ChecksumDigest(absl::string_view checksums);

// A window of an extent.
struct Window {
  uint64_t digest = 0;
  uint32_t offset_blocks = 0;
};

struct Fingerprint {
  uint64_t digest = 0;  // of the whole extent
  std::optional<Window>
      head;  // the first window of HeadWindowBlocks that is not one repeated block
  std::vector<Window> anchors;  // windows whose digest is 0 modulo kAnchorModulus
};

// `checksums`: those of all blocks, `checksum_bytes` each, at least one block. Reuses the memory of
// `fingerprint`.
void MakeFingerprint(absl::string_view checksums, int32_t checksum_bytes, bool crc32c,
                     Fingerprint& fingerprint);

// Calls visit(digest, offset_blocks) for each window of the given length that is not one repeated
// block. Of a block that repeats, windows of one block are those where it begins.
template <typename Visit>
void ForEachWindow(absl::string_view checksums, int32_t checksum_bytes, int32_t window_blocks,
                   bool crc32c, Visit visit);

// Whether the window of `blocks` blocks at the front of `checksums` is one repeated block; a window
// of one block is, if it is the zero block (known for crc32c of 4096-byte blocks).
bool IsRepeatedBlock(absl::string_view checksums, int32_t checksum_bytes, int32_t blocks,
                     bool crc32c);

template <typename Visit>
void ForEachWindow(absl::string_view checksums, int32_t checksum_bytes, int32_t window_blocks,
                   bool crc32c, Visit visit) {
  const int64_t blocks = static_cast<int64_t>(checksums.size()) / checksum_bytes;
  for (int64_t at = 0; at + window_blocks <= blocks; ++at) {
    const absl::string_view window =
        checksums.substr(at * checksum_bytes, int64_t{window_blocks} * checksum_bytes);
    if (IsRepeatedBlock(window, checksum_bytes, window_blocks, crc32c)) continue;
    if (window_blocks == 1 && at > 0 &&
        window == checksums.substr((at - 1) * checksum_bytes, checksum_bytes)) {
      continue;
    }
    visit(ChecksumDigest(window), static_cast<uint32_t>(at));
  }
}

}  // namespace onefold

#endif  // ONEFOLD_WORKER_FINGERPRINT_H_
