#include "coordinator/plan_stream.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/status_macros.h"

namespace onefold::index {

PlanStream::PlanStream(std::unique_ptr<PlanSource> source, int32_t block_bytes,
                       std::optional<PlanPosition> after, size_t candidates_max)
    : source_(std::move(source)),
      block_bytes_(block_bytes),
      candidates_max_(candidates_max),
      resume_(after) {}

absl::StatusOr<std::vector<PlanGroup>> PlanStream::Next() {
  RETURN_IF_ERROR(ResumePages());
  while (true) {
    if (!paging_ && next_ == candidates_.size()) {
      ASSIGN_OR_RETURN(const bool found, Pass());
      if (!found) return std::vector<PlanGroup>();
    }
    ASSIGN_OR_RETURN(std::vector<PlanGroup> groups, paging_ ? NextPage() : NextGroups());
    if (!groups.empty()) return groups;
  }
}

absl::Status PlanStream::ResumePages() {
  if (!resume_) return absl::OkStatus();
  const PlanPosition position = *std::exchange(resume_, std::nullopt);
  done_ = position.order;
  if (position.last_member == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(paging_, source_->Find(position.order));
  last_member_ = position.last_member;
  return absl::OkStatus();
}

absl::StatusOr<bool> PlanStream::Pass() {
  if (!more_passes_) return false;
  candidates_ = {};  // before as many new ones are gathered
  PlanSelection selection(candidates_max_, block_bytes_, done_);
  RETURN_IF_ERROR(source_->OfferAll(selection));
  if (std::exchange(first_pass_, false)) {
    group_count_ = selection.offered_count();
    expected_bytes_ = selection.offered_gain_bytes();
  }
  more_passes_ = selection.left_out();
  candidates_ = selection.Take();
  next_ = 0;
  return !candidates_.empty();
}

absl::StatusOr<std::vector<PlanGroup>> PlanStream::NextGroups() {
  const size_t begin = next_;
  size_t member_count = 0;
  while (next_ < candidates_.size() && next_ - begin < kGroupsPerMessageMax) {
    const Candidate& candidate = candidates_[next_];
    if (candidate.member_count > kMembersPerGroupMax) break;
    member_count += candidate.member_count;
    if (member_count > kMembersPerMessageMax) break;
    ++next_;
  }
  if (next_ == begin) {  // a large group is due
    paging_ = candidates_[next_++];
    done_ = OrderOf(*paging_);
    last_member_ = 0;
    return std::vector<PlanGroup>();
  }
  done_ = OrderOf(candidates_[next_ - 1]);
  return source_->LookUp(absl::MakeConstSpan(candidates_).subspan(begin, next_ - begin));
}

absl::StatusOr<std::vector<PlanGroup>> PlanStream::NextPage() {
  ASSIGN_OR_RETURN(PlanSource::Page page, source_->LookUpPage(*paging_, last_member_));
  std::vector<PlanGroup> groups;
  if (page.group) {
    page.group->position = {.order = *done_, .last_member = page.last_member};
    groups.push_back(*std::move(page.group));
  }
  last_member_ = page.last_member;
  if (page.last_member == 0) paging_.reset();
  return groups;
}

PlanOrder PlanStream::OrderOf(const Candidate& candidate) const {
  return PlanSelection(0, block_bytes_, std::nullopt).OrderOf(candidate);
}

absl::StatusOr<ExtentMap> ReadExtents(const OrderedStore& store, const VolumeRecord& record,
                                      std::vector<uint64_t> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  ExtentReader reader(store, NumberOf(record), record.queue().listed_count() > 0);
  ExtentMap extents;
  extents.reserve(addresses.size());
  for (const uint64_t address : addresses) {
    ASSIGN_OR_RETURN(std::optional<IndexedExtent> extent, reader.Find(address));
    if (extent) extents.emplace(address, *std::move(extent));
  }
  return extents;
}

}  // namespace onefold::index
