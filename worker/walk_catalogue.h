// WalkCatalogue: what one walk leaves for the next, in one file: identities of files, where they
// lay, pieces, checksums. Names are not kept. A cache: damaged or lost, everything is read anew.
// Layout: docs/formats.md.
//
// Not thread-safe.

#ifndef ONEFOLD_WORKER_WALK_CATALOGUE_H_
#define ONEFOLD_WORKER_WALK_CATALOGUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/walk_files.h"
#include "worker/walk_map.h"

namespace onefold {

struct WalkCatalogue {
  uint64_t generation = 0;          // of the last walk
  std::vector<FileIdentity> files;  // by subvolume and inode
  WalkMap map;
  ChecksumStore checksums;
};

// NOT_FOUND: there is none. DATA_LOSS: it is damaged, of another version or for another block size.
absl::StatusOr<WalkCatalogue> ReadWalkCatalogue(const std::string& path, uint64_t block_bytes);

// Replaces the file (mode 0600, its directory is made if need be), by way of `path`.new; durable
// when it returns. Checksums that no piece has are left out.
absl::Status WriteWalkCatalogue(const std::string& path, uint64_t generation,
                                const std::vector<FileIdentity>& files, const WalkMap& map,
                                const ChecksumStore& checksums);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_WALK_CATALOGUE_H_
