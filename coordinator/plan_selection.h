// The order of a plan, and how much of it is held at a time.
//
// Best expected gain first, but in classes of a factor of four, and by address within a class:
// reading nearly in order is worth more than an exact order of gains.
//
// A plan may have more groups than fit in memory. A pass over the index keeps the best ones behind
// a boundary; the next pass goes on behind the last of them. Positions are boundaries too, so a
// plan can be resumed anywhere without the coordinator remembering it.
//
// Pure.

#ifndef ONEFOLD_COORDINATOR_PLAN_SELECTION_H_
#define ONEFOLD_COORDINATOR_PLAN_SELECTION_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold::index {

// 0 for less than four bytes, one more for each factor of four.
int GainClass(int64_t gain_bytes);

// Where a group stands in its plan.
struct PlanOrder {
  int gain_class = 0;
  uint64_t lead = 0;    // lowest address of the group; the query of an inside group
  uint64_t digest = 0;  // 0 for inside groups

  friend bool operator==(const PlanOrder&, const PlanOrder&) = default;
  friend bool operator<(const PlanOrder& a, const PlanOrder& b) {
    if (a.gain_class != b.gain_class) return a.gain_class > b.gain_class;
    if (a.lead != b.lead) return a.lead < b.lead;
    return a.digest < b.digest;
  }
};

// A place in a plan: behind a group, or behind a page of it.
struct PlanPosition {
  PlanOrder order;
  // Pages: the last member that was sent, which the next page goes on behind; 0: all were.
  uint64_t last_member = 0;
  friend bool operator==(const PlanPosition&, const PlanPosition&) = default;
};
std::string EncodePosition(const PlanPosition& position);
// INVALID_ARGUMENT unless `bytes` came from EncodePosition.
absl::StatusOr<PlanPosition> ParsePosition(absl::string_view bytes);

// A group that may be offered. Two members, the usual number, are held here; more are looked up.
struct Candidate {
  uint64_t lead = 0;
  uint64_t second = 0;
  uint64_t digest = 0;
  int64_t gain_blocks = 0;
  uint32_t length = 0;  // blocks
  uint32_t member_count = 0;
};

class PlanSelection {
 public:
  // Keeps at most `candidates_max` of the candidates that come behind `after`.
  PlanSelection(size_t candidates_max, int32_t block_bytes, std::optional<PlanOrder> after);

  PlanOrder OrderOf(const Candidate& candidate) const;
  void Offer(const Candidate& candidate);

  // The best ones in order, without duplicates. Once.
  std::vector<Candidate> Take();
  // Whether some were left out: then another pass is needed.
  bool left_out() const { return left_out_; }

  // All that were offered behind `after`.
  int64_t offered_count() const { return offered_count_; }
  int64_t offered_gain_bytes() const { return offered_gain_blocks_ * block_bytes_; }

 private:
  bool Before(const Candidate& a, const Candidate& b) const { return OrderOf(a) < OrderOf(b); }
  void Shrink();

  const size_t candidates_max_;
  const int32_t block_bytes_;
  const std::optional<PlanOrder> after_;
  // The worst that is still wanted, once something was left out.
  std::optional<PlanOrder> worst_;
  std::vector<Candidate> candidates_;
  bool left_out_ = false;
  int64_t offered_count_ = 0;
  int64_t offered_gain_blocks_ = 0;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_PLAN_SELECTION_H_
