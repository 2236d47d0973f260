// The checksum functions of btrfs over blocks that were read, where the filesystem keeps none or
// keeps them of something else (compressed data): the results are bit for bit what the checksum
// tree holds for the same blocks, so fingerprints of both kinds compare.
//
// Thread-safe.

#ifndef ONEFOLD_WORKER_BLOCK_CHECKSUMS_H_
#define ONEFOLD_WORKER_BLOCK_CHECKSUMS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace onefold {

// Appends the checksum of each block of `data`. A partial last block counts as filled up with
// zeros, as on disk. `checksum_kind`: onefold.v1.ChecksumKind, 1 to kChecksumKindMax.
void AppendBlockChecksums(int32_t checksum_kind, int32_t block_bytes, absl::string_view data,
                          std::string& checksums);

// Bytes of one checksum of that kind; 0 for an unknown kind.
int32_t BlockChecksumBytes(int32_t checksum_kind);

// crc32c of `data` without special instructions: what the fast ones are tested against.
uint32_t PortableCrc32c(absl::string_view data);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BLOCK_CHECKSUMS_H_
