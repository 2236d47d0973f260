// FIEMAP: where the data of a file lies on disk, as every filesystem tells without privilege.

#ifndef ONEFOLD_WORKER_FIEMAP_H_
#define ONEFOLD_WORKER_FIEMAP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace onefold {

// A stretch of a file that lies on disk in one piece. Bytes.
struct FileMapping {
  uint64_t file_offset = 0;
  uint64_t address = 0;
  uint64_t length = 0;
  // Something else refers to it, too: this file elsewhere, another one, a snapshot.
  bool shared = false;
  // Compressed: `address` is where that begins, `length` counts unpacked bytes.
  bool compressed = false;
};

// What was left out of a file's map.
struct UnmappedBytes {
  uint64_t inlined = 0;       // in the inode itself: nothing that could be shared
  uint64_t preallocated = 0;  // never written
  uint64_t unknown = 0;       // not on disk yet, encrypted, or of an unknown kind
};

// Appends the mappings of an open file in file order, cut at the end of the block that holds its
// last byte. `mappings` is left as it was if that fails.
//
// UNIMPLEMENTED  this filesystem does not tell.
absl::Status ReadFileMap(int fd, uint64_t file_bytes, uint64_t block_bytes,
                         std::vector<FileMapping>& mappings, UnmappedBytes& left_out);

// One record as the kernel gives it (struct fiemap_extent), for the rules of what is taken. False:
// it is no data that can be shared, and counted in `left_out`. Pure.
bool TakeFiemapRecord(uint64_t logical, uint64_t physical, uint64_t length, uint32_t flags,
                      uint64_t file_bytes, uint64_t block_bytes, FileMapping& mapping,
                      UnmappedBytes& left_out);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_FIEMAP_H_
