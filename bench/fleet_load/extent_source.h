// ExtentSource: the extents of a simulated volume, from a seed: lengths of a NAS (64 KiB on
// average), duplicates as in copied folders, and fingerprints made by the worker's own code from
// generated checksums. Equal arguments give equal extents, whatever the compiler.
//
// Not thread-safe.

#ifndef ONEFOLD_BENCH_FLEET_LOAD_EXTENT_SOURCE_H_
#define ONEFOLD_BENCH_FLEET_LOAD_EXTENT_SOURCE_H_

#include <cstdint>
#include <string>

#include "worker/coordinator_client.h"
#include "worker/fingerprint.h"

namespace onefold::bench {

class ExtentSource {
 public:
  struct Options {
    uint64_t seed = 1;
    int64_t extent_count = 0;
    // Extents in a hundred that are second copies of extents that came before.
    int duplicate_percent = 10;
  };

  explicit ExtentSource(Options options) : options_(options) {}

  // The next extent, or false behind the last one. Its fingerprint is valid until the next call.
  bool Next(ExtentRow& row);

  // Second copies among the extents so far.
  int64_t duplicate_count() const { return duplicate_count_; }
  int64_t block_count() const { return block_count_; }

 private:
  // Which content the next extent holds: as many as there are extents, or one that came before.
  uint64_t NextContent();

  const Options options_;
  int64_t next_ = 0;
  uint64_t address_blocks_ = 1 << 20;
  // The copied folder that goes on: the next content of it, and how many are left.
  uint64_t copied_ = 0;
  uint64_t copies_left_ = 0;
  int64_t duplicate_count_ = 0;
  int64_t block_count_ = 0;
  std::string checksums_;
  Fingerprint fingerprint_;
};

}  // namespace onefold::bench

#endif  // ONEFOLD_BENCH_FLEET_LOAD_EXTENT_SOURCE_H_
