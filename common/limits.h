// Every bound of the system that more than one part has to know, each with its reason.

#ifndef ONEFOLD_COMMON_LIMITS_H_
#define ONEFOLD_COMMON_LIMITS_H_

#include <cstdint>

namespace onefold {

// btrfs supports sector sizes from 4 KiB to 64 KiB.
inline constexpr int32_t kBlockBytesMin = 4096;
inline constexpr int32_t kBlockBytesMax = 65536;

// gRPC's default receive limit; keeping it lets any client work.
inline constexpr int64_t kMessageBytesMax = 4 * 1024 * 1024;

// Rows of an upload batch: about 30 bytes a row, so 64-256 KiB a message, where gRPC's throughput
// is best.
inline constexpr int32_t kUploadRowsPerBatch = 4096;
// What the coordinator accepts in one batch.
inline constexpr int32_t kUploadRowsPerBatchMax = 16384;

// btrfs data extents are at most 128 MiB (BTRFS_MAX_EXTENT_SIZE); preallocated ones 256 MiB. Rows
// beyond this are hostile.
inline constexpr int64_t kExtentBytesMax = int64_t{1} << 30;

// A head is the digest of this many blocks (fewer in a shorter extent). Four block checksums are
// 128 bits with crc32c: chance hits are rare, and a file of one block still has a head.
inline constexpr int32_t kHeadBlocks = 4;

// Length in blocks of the head window of an extent of that many blocks. The last block of a short
// extent is left out: as a rule it is the end of a file, filled up with zeros, and lies nowhere
// else where the file itself does.
constexpr int32_t HeadWindowBlocks(int64_t extent_blocks) {
  return static_cast<int32_t>(extent_blocks <= 2            ? 1
                              : extent_blocks > kHeadBlocks ? kHeadBlocks
                                                            : extent_blocks - 1);
}

// One window in this many is an anchor. 64 blocks = 256 KiB: an index row for a quarter MiB.
inline constexpr uint64_t kAnchorModulus = 64;

// Places that are kept for one head; an all-too-common head says nothing.
inline constexpr int32_t kPlacesPerHeadMax = 64;

// Members of one group message; larger groups come in pages.
inline constexpr int32_t kMembersPerGroupMax = 1024;
// Groups and members of one plan message.
inline constexpr int32_t kGroupsPerMessageMax = 512;
inline constexpr int32_t kMembersPerMessageMax = 4096;

// Results of one report: one write batch in the index.
inline constexpr int32_t kResultsPerBatchMax = 8192;

// Pieces in which the filter of heads travels, and its largest size: 32 MiB holds 16 million heads
// at 16 bits each; more heads make it less exact, never larger.
inline constexpr int64_t kHeadFilterPieceBytes = 256 * 1024;
inline constexpr int64_t kHeadFilterBlockBytes = 64;
inline constexpr int64_t kHeadFilterBytesMax = 32 * 1024 * 1024;

}  // namespace onefold

#endif  // ONEFOLD_COMMON_LIMITS_H_
