// Scanner: every physical extent of a volume exactly once, with the checksums of its blocks, by
// merging two metadata trees that are both in address order. No file data is read and no file is
// looked at, however many references, snapshots or names an extent has.
//
//   extent tree (2)    address → length, generation
//   checksum tree (7)  address → checksums of many blocks; items span extents and extents span
//   items
//
// Only leaves newer than the cursor are read; what they hold of older generation is dropped.

#ifndef ONEFOLD_WORKER_SCANNER_H_
#define ONEFOLD_WORKER_SCANNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/volume.h"

namespace onefold {

// Half-open range of logical addresses, in bytes.
struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Reads checksums by address. Sequential reads are streamed; jumps cost one look-up.
// Not thread-safe.
class ChecksumReader {
 public:
  // `volume` must outlive the reader. `stream_bytes`: how much is fetched at a time.
  explicit ChecksumReader(Volume& volume, int32_t stream_bytes = 65536);

  // Sets `checksums` to those of `blocks` blocks from `address` on; absent ones are zeros. Returns
  // how many blocks have one.
  absl::StatusOr<int64_t> Read(uint64_t address, int64_t blocks, std::string& checksums);

 private:
  // A piece of the tree in memory: `blocks` checksums from `address` on, at `at` in data_.
  struct Run {
    uint64_t address = 0;
    int64_t blocks = 0;
    size_t at = 0;
  };

  // Makes [address, …) known, at least its first block.
  absl::Status Fetch(uint64_t address, uint64_t wanted_end);
  int64_t CopyKnown(uint64_t begin, uint64_t end, uint64_t base, std::string& checksums) const;

  Volume& volume_;
  const int32_t stream_bytes_;
  const uint64_t block_bytes_;
  const uint64_t checksum_bytes_;
  // The farthest that one item can reach: a look-up by address must start that much earlier.
  const uint64_t reach_bytes_;
  std::vector<Run> runs_;
  std::string data_;
  // All checksums of this range are in runs_.
  AddressRange known_;
};

struct ScannedExtent {
  uint64_t address = 0;
  int64_t length = 0;  // on disk, bytes
  uint64_t generation = 0;
  uint64_t references = 0;
};

// Chunks that hold data, joined where they touch, in address order.
absl::StatusOr<std::vector<AddressRange>> DataChunks(Volume& volume);

// Visits data extents in address order whose leaf is of at least `leaf_generation_min` (items may
// be older), within `range`. Ends early when `visit` returns false.
absl::Status ForEachExtent(Volume& volume, AddressRange range, uint64_t leaf_generation_min,
                           const std::function<bool(const ScannedExtent&)>& visit);

// Ranges of addresses whose checksums may have changed since `generation`, joined, in order.
absl::StatusOr<std::vector<AddressRange>> ChangedChecksums(Volume& volume, int64_t generation);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_SCANNER_H_
