// FakeCoordinator: a CoordinatorClient in memory. Tests write what it answers and read what it was
// told; it decides nothing.
//
// As thread-safe as a CoordinatorClient has to be: ReportResults may be called from any thread.

#ifndef ONEFOLD_WORKER_TESTING_FAKE_COORDINATOR_H_
#define ONEFOLD_WORKER_TESTING_FAKE_COORDINATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "worker/coordinator_client.h"

namespace onefold {

class FakeCoordinator final : public CoordinatorClient {
 public:
  FakeCoordinator() { order.leased = true; }

  // A row as it arrived, with a copy of what it points to.
  struct Row {
    uint64_t address = 0;
    uint32_t length_blocks = 0;
    uint64_t generation = 0;
    ChecksumState state = ChecksumState::kComplete;
    std::optional<Fingerprint> fingerprint = {};
  };
  struct Upload {
    int64_t target_generation = 0;  // 0: a sweep
    std::vector<Row> rows = {};
    struct Mark {
      uint64_t address = 0;
      size_t row_count = 0;  // rows that had come before
    };
    std::vector<Mark> complete_below = {};
    bool ended = false;

    // Addresses of the rows as they came.
    std::vector<uint64_t> addresses() const {
      std::vector<uint64_t> all;
      for (const Row& row : rows) all.push_back(row.address);
      return all;
    }
  };
  struct Hit {
    uint64_t digest = 0;
    uint64_t address = 0;
    uint32_t offset_blocks = 0;
    friend auto operator<=>(const Hit&, const Hit&) = default;
  };
  struct HitList {
    bool full = false;
    std::vector<Hit> hits = {};
    bool ended = false;
  };

  // ---- What it answers

  VolumeOrder order;   // leased
  IndexTotals totals;  // at the end of each upload
  std::vector<IncompleteExtent> incomplete;
  std::set<uint64_t> heads;  // in the filter
  uint32_t window_lengths = 0b1111;
  std::map<PlanKind, std::vector<Group>> plan;
  size_t groups_per_page = 512;
  PlanSummary summary;  // of EndPlan and Summarize
  // The upload breaks off with `upload_error` when it holds that many rows (or hits).
  std::optional<size_t> upload_rows_max;
  absl::Status upload_error = absl::UnavailableError("the connection was lost");
  absl::Status results_error;  // of ReportResults

  // ---- What it was told

  std::vector<VolumeState> states;
  std::vector<Upload> scans;
  std::vector<Upload> sweeps;
  std::vector<HitList> hit_lists;
  int heads_fetched = 0;
  std::vector<PlanEnd> ends;

  std::vector<ExtentResult> results();
  // The last result for each extent.
  std::map<uint64_t, ExtentResult> ResultByAddress();

  // ---- CoordinatorClient

  absl::StatusOr<VolumeOrder> Sync(const VolumeState& state) override;
  absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginScan(int64_t target_generation) override;
  absl::StatusOr<std::unique_ptr<ExtentUpload>> BeginSweep() override;
  absl::StatusOr<std::vector<IncompleteExtent>> ListIncompleteExtents() override;
  absl::StatusOr<HeadQuery> GetHeads() override;
  absl::StatusOr<std::unique_ptr<HitUpload>> BeginHits(bool full) override;
  absl::StatusOr<std::unique_ptr<PlanReader>> FetchPlan(PlanKind kind) override;
  absl::Status ReportResults(absl::Span<const ExtentResult> results) override;
  absl::StatusOr<PlanSummary> EndPlan(const PlanEnd& end) override;
  absl::StatusOr<PlanSummary> Summarize() override { return summary; }

 private:
  class FakeExtentUpload;
  class FakeHitUpload;
  class FakePlanReader;

  Mutex mutex_;
  std::vector<ExtentResult> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_FAKE_COORDINATOR_H_
