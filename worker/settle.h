// Settling: from a group of extents that seem equal to what is dropped and what stays.
//
// btrfs frees an extent only when its last reference is gone, so the unit is the extent: it is
// dropped only if every reference of it can be moved. The rules what to keep are the same in every
// batch and run, so that no run undoes what another did:
//   what cannot be dropped anyway > covers most of the data > kept before > most references >
//   in a read-only snapshot > lowest address.

#ifndef ONEFOLD_WORKER_SETTLE_H_
#define ONEFOLD_WORKER_SETTLE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/coordinator_client.h"
#include "worker/extent_view.h"
#include "worker/moves.h"
#include "worker/run_registry.h"
#include "worker/scanner.h"

namespace onefold {

// An extent that is to be dropped, with all it takes.
struct Drop {
  uint64_t address = 0;
  uint64_t generation = 0;
  int64_t disk_bytes = 0;
  std::vector<Move> moves;
  // For the metadata account: how many references there are, and how many leaves refer to the
  // extent.
  int64_t reference_count = 0;
  int64_t leaf_count = 0;
  int64_t reference_bytes = 0;  // file bytes of the references, in whole blocks
  // On-disk bytes that relocated moves write anew, and what holds the extent without them.
  int64_t written_bytes = 0;
  Holder held_by = Holder::kNone;
  // How to come back to it if it is still there afterwards.
  PlanKind kind = PlanKind::kWhole;
  GroupMember self = {};
  GroupMember partner = {};
};

struct Settled {
  std::vector<Drop> drops;
  // Final outcomes of members that are not dropped.
  std::vector<ExtentResult> results;
  // Extents that `drops` read from: they must not be dropped at the same time.
  std::vector<uint64_t> sources;
  // Pattern index, or kExcludedBySize → on-disk bytes of candidates that only an excluded file
  // keeps from being dropped.
  std::map<int, int64_t> excluded_bytes;
};

// How much may be written anew so that an extent can be dropped that blocks without a match hold.
struct RelocationLimit {
  // Bytes that are freed, net, for each byte that is written; infinite: nothing is written.
  double gain_min = std::numeric_limits<double>::infinity();

  bool allowed() const { return gain_min < std::numeric_limits<double>::infinity(); }
  int64_t WrittenBytesMax(int64_t disk_bytes) const {
    return static_cast<int64_t>(static_cast<double>(disk_bytes) / (1 + gain_min));
  }
};

// Extents with equal digests of all blocks.
absl::StatusOr<Settled> SettleWhole(const Group& group, ExtentViewer& viewer, int64_t block_bytes,
                                    const RelocationLimit& relocation = {});

// Readers for the two sides of a comparison, so that each reads on where it was.
struct ChecksumReaders {
  explicit ChecksumReaders(Volume& volume)
      : query(volume, kLookUpBytes), place(volume, kLookUpBytes) {}
  static constexpr int32_t kLookUpBytes = 16384;
  ChecksumReader query;
  ChecksumReader place;
};

// An extent whose head lies inside others: how far the match reaches is settled from checksums,
// across extent borders and on both sides in file order. `runs`, if given, remembers runs between
// calls.
struct InsideRuns {
  RunRegistry found;
  RunRegistry relocated;  // those that take some writing
  void Clear() {
    found.Clear();
    relocated.Clear();
  }
};
absl::StatusOr<Settled> SettleInside(const Group& group, ExtentViewer& viewer,
                                     ChecksumReaders& checksums, const VolumeInfo& volume,
                                     InsideRuns* runs = nullptr,
                                     const RelocationLimit& relocation = {});

// Shared by both.
ExtentResult ResultOf(const ExtentView& view, Outcome outcome, Holder holder = Holder::kNone);
Drop MakeDrop(const ExtentView& view, std::vector<Move> moves);
// Notes which patterns keep `view` from being dropped.
void NoteExcluded(const ExtentView& view, Settled& settled);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_SETTLE_H_
