// HeadMatcher: where heads of extents were found, as rows M.
//
// The heads of all extents are the queries. Places come from three sources: windows of extents that
// met the filter of heads, extents whose own heads are equal, and anchors (anchor_matcher.h). All
// places of one head are considered together; each query keeps the largest kPlacesPerHeadMax of
// them, leaves out itself and what is equal to it as a whole (found that way), and counts the rest.
//
// Not thread-safe.

#ifndef ONEFOLD_COORDINATOR_HEAD_MATCHER_H_
#define ONEFOLD_COORDINATOR_HEAD_MATCHER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/keys.h"
#include "coordinator/ordered_store.h"
#include "coordinator/rows.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

// A window of an extent, as the worker reports it. In blocks.
struct Hit {
  uint64_t digest = 0;
  uint64_t address = 0;
  uint32_t offset = 0;
};

class HeadMatcher {
 public:
  struct Counts {
    int64_t match_count = 0;
    int64_t dropped_count = 0;
  };

  // `store` and `volume` must outlive the matcher.
  HeadMatcher(const OrderedStore& store, Volume& volume, uint64_t incarnation)
      : store_(store), volume_(volume), incarnation_(incarnation) {}

  // Matches windows with the heads in the index. Those of extents that are gone are ignored.
  // Durable when it returns.
  absl::Status MatchHits(std::vector<Hit> hits);

  // Matches extents whose heads are equal: all of them, or only those that involve a waiting
  // extent.
  absl::Status MatchEqualHeads(bool all);

  const Counts& counts() const { return counts_; }

 private:
  // Where a head lies. The whole digest tells whether the extent there equals the query.
  struct Place {
    uint64_t digest = 0;  // of the window
    uint64_t address = 0;
    uint64_t whole_digest = 0;
    uint32_t offset = 0;
    uint32_t length = 0;
  };
  // A match that a query has or would get.
  struct Found {
    MatchKey key;
    uint32_t length = 0;  // of the place
    bool is_new = false;
  };
  struct Step;  // one batch of work
  struct DigestPlaces;

  static Place PlaceOfHead(const FingerprintKey& key, const Fingerprint& head);
  absl::StatusOr<std::vector<Place>> PlacesOf(std::vector<Hit> hits);
  // Each returns a portion of ascending digests from the key `next` on, and sets it for the one
  // after or clears it.
  absl::StatusOr<std::vector<uint64_t>> SharedHeads(std::string& next);
  absl::StatusOr<std::vector<uint64_t>> WaitingHeads(std::string& next);
  absl::Status MatchDigests(absl::Span<const Place> places);
  absl::Status MatchDigest(Step& step, absl::Span<const Place> hits, uint64_t& next_query);
  static absl::Status ForEachHead(Step& step, uint64_t digest,
                                  absl::FunctionRef<bool(const Place&)> visit);
  static absl::StatusOr<DigestPlaces> FindPlaces(Step& step, absl::Span<const Place> hits);
  absl::Status MatchQuery(Step& step, const Place& query, absl::Span<const Place> places);
  static absl::Status AddKnown(Step& step, uint64_t query, std::vector<Found>& found,
                               uint64_t& dropped_count);
  void KeepLargest(Step& step, uint64_t query, absl::Span<const Found> found,
                   uint64_t dropped_count);

  const OrderedStore& store_;
  Volume& volume_;
  const uint64_t incarnation_;
  Counts counts_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_HEAD_MATCHER_H_
