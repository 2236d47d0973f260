#include "coordinator/plan_selection.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/bytes.h"

namespace onefold::index {
namespace {

constexpr size_t kPositionBytes = 1 + 3 * 8;

}  // namespace

int GainClass(int64_t gain_bytes) {
  return gain_bytes <= 0 ? 0 : (std::bit_width(static_cast<uint64_t>(gain_bytes)) - 1) / 2;
}

std::string EncodePosition(const PlanPosition& position) {
  std::string bytes(1, static_cast<char>(position.order.gain_class));
  AppendBig64(bytes, position.order.lead);
  AppendBig64(bytes, position.order.digest);
  AppendBig64(bytes, position.last_member);
  return bytes;
}

absl::StatusOr<PlanPosition> ParsePosition(absl::string_view bytes) {
  if (bytes.size() != kPositionBytes || static_cast<uint8_t>(bytes[0]) > 31) {
    return absl::InvalidArgumentError("after_position: not from a plan");
  }
  return PlanPosition{.order = {.gain_class = bytes[0],
                                .lead = LoadBig64(bytes.data() + 1),
                                .digest = LoadBig64(bytes.data() + 9)},
                      .last_member = LoadBig64(bytes.data() + 17)};
}

PlanSelection::PlanSelection(size_t candidates_max, int32_t block_bytes,
                             std::optional<PlanOrder> after)
    : candidates_max_(candidates_max), block_bytes_(block_bytes), after_(after) {}

PlanOrder PlanSelection::OrderOf(const Candidate& candidate) const {
  return {.gain_class = GainClass(candidate.gain_blocks * block_bytes_),
          .lead = candidate.lead,
          .digest = candidate.digest};
}

void PlanSelection::Offer(const Candidate& candidate) {
  const PlanOrder order = OrderOf(candidate);
  if (after_ && !(*after_ < order)) return;
  ++offered_count_;
  offered_gain_blocks_ += candidate.gain_blocks;
  if (worst_ && *worst_ < order) return;
  // All at once: growing step by step would take twice the memory. What is not used costs none.
  if (candidates_.empty()) candidates_.reserve(candidates_max_ + 1);
  candidates_.push_back(candidate);
  if (candidates_.size() > candidates_max_) Shrink();
}

void PlanSelection::Shrink() {
  // A quarter at once, so that this is done seldom.
  const auto worst = candidates_.begin() + static_cast<ptrdiff_t>(candidates_max_ * 3 / 4);
  std::nth_element(candidates_.begin(), worst, candidates_.end(),
                   [this](const Candidate& a, const Candidate& b) { return Before(a, b); });
  worst_ = OrderOf(*worst);
  candidates_.erase(worst + 1, candidates_.end());
  left_out_ = true;
}

std::vector<Candidate> PlanSelection::Take() {
  std::sort(candidates_.begin(), candidates_.end(),
            [this](const Candidate& a, const Candidate& b) { return Before(a, b); });
  const auto same_order = [this](const Candidate& a, const Candidate& b) {
    return OrderOf(a) == OrderOf(b);
  };
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end(), same_order),
                    candidates_.end());
  return std::exchange(candidates_, {});
}

}  // namespace onefold::index
