// PlanStream: the groups of a plan, one portion after another.
//
// What the groups of a kind are is the business of a PlanSource; the stream orders them, holds a
// bounded number at a time, cuts large ones into pages and resumes. Groups are found first and
// their members looked up when they are due, so results that come in meanwhile are heeded: members
// that are gone are left out.

#ifndef ONEFOLD_COORDINATOR_PLAN_STREAM_H_
#define ONEFOLD_COORDINATOR_PLAN_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/ordered_store.h"
#include "coordinator/plan_selection.h"
#include "coordinator/sorted_reader.h"
#include "coordinator/volume_book.h"

namespace onefold::index {

// 5 MB of candidates; a plan with more groups takes one pass over the index for each so many.
inline constexpr size_t kCandidatesMax = 131072;

struct PlanMember {
  uint64_t address = 0;
  uint32_t length = 0;
  uint64_t generation = 0;
  bool kept_before = false;
  bool queued = false;
  int32_t delta = 0;
};

// onefold.v1.Group.
struct PlanGroup {
  PlanPosition position = {};
  std::vector<PlanMember> members = {};
  bool paged = false;
  uint64_t digest = 0;
  int64_t dropped_count = 0;
};

// One kind of plan of one volume. Not thread-safe.
class PlanSource {
 public:
  // A group that is too large for one message, seen from a member on.
  struct Page {
    std::optional<PlanGroup> group;  // nullopt if nothing of this page is wanted
    uint64_t last_member = 0;        // go on behind this one; 0: that was all
  };

  virtual ~PlanSource() = default;

  // Offers every group there is.
  virtual absl::Status OfferAll(PlanSelection& selection) = 0;

  // Looks up the members of groups, which have at most kMembersPerGroupMax. Leaves out groups of
  // which nothing waits any more.
  virtual absl::StatusOr<std::vector<PlanGroup>> LookUp(absl::Span<const Candidate> candidates) = 0;

  // The next page of a large group.
  virtual absl::StatusOr<Page> LookUpPage(const Candidate& candidate, uint64_t after_member) = 0;

  // The large group with the given place in the plan, for resuming; nullopt if it is no more.
  virtual absl::StatusOr<std::optional<Candidate>> Find(const PlanOrder& order) = 0;
};

// Not thread-safe.
class PlanStream {
 public:
  // Begins behind `after`. `block_bytes` of the volume.
  PlanStream(std::unique_ptr<PlanSource> source, int32_t block_bytes,
             std::optional<PlanPosition> after, size_t candidates_max = kCandidatesMax);

  // The next groups: at most kGroupsPerMessageMax and kMembersPerMessageMax members; none at the
  // end.
  absl::StatusOr<std::vector<PlanGroup>> Next();

  // Estimates for everything behind `after`, known after the first Next.
  int64_t group_count() const { return group_count_; }
  int64_t expected_bytes() const { return expected_bytes_; }

 private:
  absl::Status ResumePages();
  // Finds the next candidates. False if there are none.
  absl::StatusOr<bool> Pass();
  absl::StatusOr<std::vector<PlanGroup>> NextPage();
  absl::StatusOr<std::vector<PlanGroup>> NextGroups();
  PlanOrder OrderOf(const Candidate& candidate) const;

  const std::unique_ptr<PlanSource> source_;
  const int32_t block_bytes_;
  const size_t candidates_max_;
  std::optional<PlanPosition> resume_;
  std::optional<PlanOrder> done_;  // everything up to here was handed out
  bool first_pass_ = true;
  bool more_passes_ = true;
  std::vector<Candidate> candidates_;
  size_t next_ = 0;
  // The large group whose pages are being handed out, and the last member that was.
  std::optional<Candidate> paging_;
  uint64_t last_member_ = 0;
  int64_t group_count_ = 0;
  int64_t expected_bytes_ = 0;
};

// Extents by address.
using ExtentMap = absl::flat_hash_map<uint64_t, IndexedExtent>;

// Those of `addresses` that exist, read in address order.
absl::StatusOr<ExtentMap> ReadExtents(const OrderedStore& store, const VolumeRecord& record,
                                      std::vector<uint64_t> addresses);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_PLAN_STREAM_H_
