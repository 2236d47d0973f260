#include "worker/testing/fake_coordinator.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace onefold {

class FakeCoordinator::FakeExtentUpload final : public ExtentUpload {
 public:
  FakeExtentUpload(FakeCoordinator& owner, std::vector<Upload>& uploads)
      : owner_(owner), uploads_(uploads), index_(uploads.size() - 1) {}

  absl::Status Add(const ExtentRow& row) override {
    Upload& upload = uploads_[index_];
    CHECK(!upload.ended);
    if (owner_.upload_rows_max && upload.rows.size() >= *owner_.upload_rows_max) {
      return owner_.upload_error;
    }
    upload.rows.push_back({.address = row.address,
                           .length_blocks = row.length_blocks,
                           .generation = row.generation,
                           .state = row.state});
    if (row.fingerprint != nullptr) upload.rows.back().fingerprint = *row.fingerprint;
    return absl::OkStatus();
  }

  absl::Status CompleteBelow(uint64_t address) override {
    Upload& upload = uploads_[index_];
    upload.complete_below.push_back({address, upload.rows.size()});
    return absl::OkStatus();
  }

  absl::StatusOr<IndexTotals> End() override {
    uploads_[index_].ended = true;
    return owner_.totals;
  }

 private:
  FakeCoordinator& owner_;
  std::vector<Upload>& uploads_;
  const size_t index_;
};

class FakeCoordinator::FakeHitUpload final : public HitUpload {
 public:
  explicit FakeHitUpload(FakeCoordinator& owner)
      : owner_(owner), index_(owner.hit_lists.size() - 1) {}

  absl::Status Add(uint64_t window_digest, uint64_t address, uint32_t offset_blocks) override {
    HitList& list = owner_.hit_lists[index_];
    if (owner_.upload_rows_max && list.hits.size() >= *owner_.upload_rows_max) {
      return owner_.upload_error;
    }
    list.hits.push_back({window_digest, address, offset_blocks});
    return absl::OkStatus();
  }

  absl::Status End() override {
    owner_.hit_lists[index_].ended = true;
    return absl::OkStatus();
  }

 private:
  FakeCoordinator& owner_;
  const size_t index_;
};

class FakeCoordinator::FakePlanReader final : public PlanReader {
 public:
  FakePlanReader(std::vector<Group> groups, size_t groups_per_page)
      : groups_(std::move(groups)), groups_per_page_(groups_per_page) {}

  absl::StatusOr<std::vector<Group>> Next() override {
    const size_t end = std::min(groups_.size(), next_ + groups_per_page_);
    std::vector<Group> page(groups_.begin() + static_cast<int64_t>(next_),
                            groups_.begin() + static_cast<int64_t>(end));
    next_ = end;
    return page;
  }
  int64_t group_count() const override { return static_cast<int64_t>(groups_.size()); }
  int64_t expected_bytes() const override { return 0; }

 private:
  const std::vector<Group> groups_;
  const size_t groups_per_page_;
  size_t next_ = 0;
};

std::vector<ExtentResult> FakeCoordinator::results() {
  MutexLock lock(&mutex_);
  return results_;
}

std::map<uint64_t, ExtentResult> FakeCoordinator::ResultByAddress() {
  MutexLock lock(&mutex_);
  std::map<uint64_t, ExtentResult> last;
  for (const ExtentResult& result : results_) last[result.address] = result;
  return last;
}

absl::StatusOr<VolumeOrder> FakeCoordinator::Sync(const VolumeState& state) {
  states.push_back(state);
  return order;
}

absl::StatusOr<std::unique_ptr<ExtentUpload>> FakeCoordinator::BeginScan(
    int64_t target_generation) {
  scans.push_back({.target_generation = target_generation});
  return std::make_unique<FakeExtentUpload>(*this, scans);
}

absl::StatusOr<std::unique_ptr<ExtentUpload>> FakeCoordinator::BeginSweep() {
  sweeps.emplace_back();
  return std::make_unique<FakeExtentUpload>(*this, sweeps);
}

absl::StatusOr<std::vector<IncompleteExtent>> FakeCoordinator::ListIncompleteExtents() {
  return incomplete;
}

absl::StatusOr<HeadQuery> FakeCoordinator::GetHeads() {
  ++heads_fetched;
  HeadQuery query{.filter = HeadFilter::ForHeads(static_cast<int64_t>(heads.size())),
                  .window_lengths = window_lengths};
  for (const uint64_t head : heads) query.filter.Add(head);
  return query;
}

absl::StatusOr<std::unique_ptr<HitUpload>> FakeCoordinator::BeginHits(bool full) {
  hit_lists.push_back({.full = full});
  return std::make_unique<FakeHitUpload>(*this);
}

absl::StatusOr<std::unique_ptr<PlanReader>> FakeCoordinator::FetchPlan(PlanKind kind) {
  return std::make_unique<FakePlanReader>(plan[kind], groups_per_page);
}

absl::Status FakeCoordinator::ReportResults(absl::Span<const ExtentResult> results) {
  if (!results_error.ok()) return results_error;
  MutexLock lock(&mutex_);
  results_.insert(results_.end(), results.begin(), results.end());
  return absl::OkStatus();
}

absl::StatusOr<PlanSummary> FakeCoordinator::EndPlan(const PlanEnd& end) {
  ends.push_back(end);
  return summary;
}

}  // namespace onefold
