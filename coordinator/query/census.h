// Census: what lies in the index more than once, within volumes and between them. Extents count
// that are equal as a whole, by the digest of their checksums; digests of different kinds of
// checksums or sizes of blocks are never compared.
//
// Taken in one pass over the rows F of all volumes, in slices of the digests, so that memory stays
// bounded whatever the number of extents. Pure; volumes may change meanwhile: each slice is as of
// when it was read.

#ifndef ONEFOLD_COORDINATOR_QUERY_CENSUS_H_
#define ONEFOLD_COORDINATOR_QUERY_CENSUS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/uuid.h"
#include "coordinator/ordered_store.h"
#include "coordinator/volume_book.h"

namespace onefold::query {

// Content on so many volumes or more is on "very many": counted once, not in pairs.
inline constexpr int32_t kEverywhereVolumes = 32;

struct Census {
  // Extents of one volume that are equal.
  struct Group {
    uint64_t digest = 0;
    int64_t extent_bytes = 0;
    int64_t copy_count = 0;
    uint64_t address = 0;  // of one of them, in bytes

    int64_t duplicate_bytes() const { return extent_bytes * (copy_count - 1); }
  };
  struct VolumeCount {
    VolumeUuid uuid;
    int64_t distinct_bytes = 0;   // each content once
    int64_t shared_bytes = 0;     // of these, what another volume holds as well
    int64_t duplicate_bytes = 0;  // all copies but one of each content
    int64_t group_count = 0;      // contents with more than one copy
    std::vector<Group> largest;   // by duplicate_bytes, the largest first
  };
  // What two volumes have in common. Indices into `volumes`, first < second.
  struct Pair {
    uint32_t first = 0;
    uint32_t second = 0;
    int64_t shared_bytes = 0;
  };

  absl::Time time;  // when it was begun; the caller's to set, like elapsed
  absl::Duration elapsed;
  std::vector<VolumeCount> volumes;  // in the order they were given
  std::vector<Pair> pairs;           // the largest first
  int64_t everywhere_bytes = 0;
  bool mixed_checksums = false;
};

struct CensusOptions {
  size_t rows_at_a_time = 1'000'000;  // 24 bytes each
  size_t groups_kept = 200;           // of each volume
};

struct CountedVolume {
  VolumeUuid uuid;
  index::VolumeRecord record;
};

// DATA_LOSS: the index is damaged. CANCELLED: `stop` said so; it is asked every few thousand rows.
absl::StatusOr<Census> TakeCensus(const index::OrderedStore& store,
                                  absl::Span<const CountedVolume> volumes,
                                  const CensusOptions& options, absl::FunctionRef<bool()> stop);

}  // namespace onefold::query

#endif  // ONEFOLD_COORDINATOR_QUERY_CENSUS_H_
