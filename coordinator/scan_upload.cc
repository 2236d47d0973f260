#include "coordinator/scan_upload.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "coordinator/anchor_matcher.h"
#include "coordinator/extent_ledger.h"
#include "coordinator/sorted_reader.h"

namespace onefold::index {
namespace {

// Ascending by address; of several rows of one address the last one sent.
void SortRows(std::vector<Extent>& rows) {
  const auto by_address = [](const Extent& a, const Extent& b) { return a.address < b.address; };
  if (std::is_sorted(rows.begin(), rows.end(), by_address)) return;
  std::reverse(rows.begin(), rows.end());  // so that the last one sent comes first
  std::stable_sort(rows.begin(), rows.end(), by_address);
  const auto same_address = [](const Extent& a, const Extent& b) { return a.address == b.address; };
  rows.erase(std::unique(rows.begin(), rows.end(), same_address), rows.end());
}

// Whether a row says nothing that the index does not have: it was sent before, or its checksums are
// not there yet while the index has some.
bool IsKnown(const Extent& known, const Extent& row) {
  if (known.generation != row.generation || known.length != row.length) return false;
  if (!row.complete()) return known.complete() || known.checksum_state == row.checksum_state;
  return known.complete() && known.digest == row.digest;
}

}  // namespace

ScanUpload::ScanUpload(const OrderedStore& store, Volume& volume, Options options)
    : store_(store),
      volume_(volume),
      options_(options),
      match_anchors_(volume.Record().scanned_generation() > 0) {}

ScanUpload::~ScanUpload() {
  if (!writer_.joinable()) return;
  {
    MutexLock lock(&mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  writer_.join();
}

absl::Status ScanUpload::Add(std::vector<Extent> rows, uint64_t complete_below) {
  for (const Extent& row : rows) gathered_.anchor_count += row.anchors.size();
  std::move(rows.begin(), rows.end(), std::back_inserter(gathered_.rows));
  gathered_.complete_below = std::max(gathered_.complete_below, complete_below);
  const bool full = gathered_.rows.size() + gathered_.anchor_count >= kRowsPerRun;
  return full ? HandOver() : absl::OkStatus();
}

absl::Status ScanUpload::End() {
  RETURN_IF_ERROR(WaitUntilIdle());
  return WriteRun(std::exchange(gathered_, {}), /*ends=*/true);
}

ScanUpload::Progress ScanUpload::progress() const {
  MutexLock lock(&mutex_);
  return progress_;
}

absl::Status ScanUpload::HandOver() {
  if (!writer_.joinable()) writer_ = std::thread([this] { WriteRuns(); });
  RETURN_IF_ERROR(WaitUntilIdle());
  MutexLock lock(&mutex_);
  handed_over_ = std::exchange(gathered_, {});
  busy_ = true;
  changed_.NotifyAll();
  return absl::OkStatus();
}

absl::Status ScanUpload::WaitUntilIdle() {
  MutexLock lock(&mutex_);
  while (busy_) changed_.Wait(&mutex_);
  return status_;
}

void ScanUpload::WriteRuns() {
  while (true) {
    Run run;
    {
      MutexLock lock(&mutex_);
      while (!busy_ && !stop_) changed_.Wait(&mutex_);
      if (!busy_) return;
      run = std::exchange(handed_over_, {});
    }
    const absl::Status status = WriteRun(std::move(run), /*ends=*/false);
    MutexLock lock(&mutex_);
    status_ = status;
    busy_ = false;
    changed_.NotifyAll();
  }
}

absl::Status ScanUpload::WriteRun(Run run, bool ends) {
  SortRows(run.rows);
  int64_t new_count = 0;
  RETURN_IF_ERROR(volume_.Update(options_.incarnation, [&](VolumeRecord& record, RowBatch& batch) {
    return ApplyRun(run, ends, record, batch, new_count);
  }));
  MutexLock lock(&mutex_);
  progress_.durable_below = std::max(progress_.durable_below, run.complete_below);
  progress_.new_count += new_count;
  return absl::OkStatus();
}

absl::Status ScanUpload::ApplyRun(const Run& run, bool ends, VolumeRecord& record, RowBatch& batch,
                                  int64_t& new_count) {
  ExtentReader known(store_, NumberOf(record), record.queue().listed_count() > 0);
  ExtentLedger ledger(store_, record, batch);
  AnchorMatcher anchors(store_, record, batch);
  for (const Extent& row : run.rows) {
    ASSIGN_OR_RETURN(const std::optional<IndexedExtent> old, known.Find(row.address));
    if (old && IsKnown(old->extent, row)) continue;
    if (old) RETURN_IF_ERROR(ledger.Erase(*old));
    ledger.Insert(row);
    if (match_anchors_) RETURN_IF_ERROR(anchors.MatchExtent(row));
    ++new_count;
  }
  if (ends) {
    record.set_scanned_generation(
        std::max(record.scanned_generation(), options_.target_generation));
    record.clear_resume_address_blocks();
    record.clear_resume_generation();
  } else if (run.complete_below > record.resume_address_blocks()) {
    record.set_resume_address_blocks(run.complete_below);
    record.set_resume_generation(options_.target_generation);
  }
  return absl::OkStatus();
}

}  // namespace onefold::index
