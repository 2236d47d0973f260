#include "coordinator/scan_writer.h"

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
  const auto not_ascending = [](const Extent& a, const Extent& b) {
    return a.address >= b.address;
  };
  if (std::adjacent_find(rows.begin(), rows.end(), not_ascending) == rows.end()) return;
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

ScanWriter::~ScanWriter() {
  std::thread thread;
  {
    MutexLock lock(&mutex_);
    stop_ = true;
    work_.NotifyAll();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void ScanWriter::AwaitRoom(Scan& scan, size_t weight) {
  MutexLock lock(&mutex_);
  Reserve(scan, weight);
}

void ScanWriter::Reserve(Scan& scan, size_t weight) {
  while (weight_ > 0 && weight_ + weight > rows_per_run_ && scan.status.ok()) {
    urgent_ = true;
    work_.NotifyAll();
    changed_.Wait(&mutex_);
  }
  weight_ += weight;
  scan.reserved += weight;
}

absl::Status ScanWriter::Add(Scan& scan, std::vector<Extent> rows, uint64_t complete_below) {
  size_t weight = rows.size();
  for (const Extent& row : rows) weight += row.anchors.size();
  MutexLock lock(&mutex_);
  if (scan.reserved == 0) Reserve(scan, weight);
  weight_ -= std::exchange(scan.reserved, 0);
  RETURN_IF_ERROR(scan.status);
  weight_ += weight;
  scan.gathered.weight += weight;
  scan.gathered.complete_below = std::max(scan.gathered.complete_below, complete_below);
  if (scan.gathered.rows.empty()) {
    scan.gathered.rows = std::move(rows);
  } else {
    std::move(rows.begin(), rows.end(), std::back_inserter(scan.gathered.rows));
  }
  AddGathered(scan);
  return absl::OkStatus();
}

absl::Status ScanWriter::End(Scan& scan) {
  MutexLock lock(&mutex_);
  scan.gathered.ends = true;
  if (scan.status.ok()) {
    urgent_ = true;
    AddGathered(scan);
  }
  while (scan.has_gathered || scan.being_written) changed_.Wait(&mutex_);
  return scan.status;
}

void ScanWriter::AddGathered(Scan& scan) {
  if (!std::exchange(scan.has_gathered, true)) scans_.push_back(&scan);
  if (!thread_.joinable()) thread_ = std::thread([this] { WriteRuns(); });
  if (IsDue()) work_.NotifyAll();
}

ScanProgress ScanWriter::ProgressOf(const Scan& scan) const {
  MutexLock lock(&mutex_);
  return scan.progress;
}

void ScanWriter::Forget(Scan& scan) {
  MutexLock lock(&mutex_);
  DropGathered(scan);
  weight_ -= std::exchange(scan.reserved, 0);
  changed_.NotifyAll();
  while (scan.being_written) changed_.Wait(&mutex_);
}

void ScanWriter::DropGathered(Scan& scan) {
  if (!std::exchange(scan.has_gathered, false)) return;
  weight_ -= std::exchange(scan.gathered, {}).weight;
  scans_.erase(std::find(scans_.begin(), scans_.end(), &scan));
}

bool ScanWriter::IsDue() const { return !scans_.empty() && (urgent_ || weight_ >= rows_per_run_); }

void ScanWriter::WriteRuns() {
  while (true) {
    std::vector<Piece> pieces;
    {
      MutexLock lock(&mutex_);
      while (!IsDue() && !stop_) work_.Wait(&mutex_);
      if (stop_) return;
      pieces = TakePieces();
      changed_.NotifyAll();  // there is room
    }
    std::vector<absl::Status> results;
    Write(pieces, results);
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < pieces.size(); ++i) {
      Scan& scan = *pieces[i].scan;
      scan.being_written = false;
      scan.status = results[i];
      if (results[i].ok()) {
        scan.progress.durable_below =
            std::max(scan.progress.durable_below, pieces[i].run.complete_below);
        scan.progress.new_count += pieces[i].new_count;
      } else {
        // What came behind must not move the cursor past what is missing.
        DropGathered(scan);
      }
    }
    changed_.NotifyAll();
  }
}

std::vector<ScanWriter::Piece> ScanWriter::TakePieces() {
  std::vector<Piece> pieces;
  std::vector<Scan*> left;
  for (Scan* const scan : scans_) {
    // A second scan of the same volume has to see what the first one wrote.
    const bool taken = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return &piece.scan->volume == &scan->volume;
    });
    if (taken) {
      left.push_back(scan);
      continue;
    }
    scan->has_gathered = false;
    scan->being_written = true;
    weight_ -= scan->gathered.weight;
    pieces.push_back({.scan = scan, .run = std::exchange(scan->gathered, {})});
  }
  scans_ = std::move(left);
  urgent_ = !scans_.empty();
  return pieces;
}

void ScanWriter::Write(std::vector<Piece>& pieces, std::vector<absl::Status>& results) {
  std::vector<VolumeChange> changes;
  changes.reserve(pieces.size());
  for (Piece& piece : pieces) {
    SortRows(piece.run.rows);
    changes.push_back({.volume = &piece.scan->volume,
                       .incarnation = piece.scan->options.incarnation,
                       .change = [this, &piece](VolumeRecord& record, RowBatch& batch) {
                         return Apply(*piece.scan, piece.run, record, batch, piece.new_count);
                       }});
  }
  UpdateTogether(store_, absl::MakeSpan(changes));
  for (VolumeChange& change : changes) results.push_back(std::move(change.status));
}

absl::Status ScanWriter::Apply(const Scan& scan, const Run& run, VolumeRecord& record,
                               RowBatch& batch, int64_t& new_count) {
  ExtentReader known(store_, NumberOf(record), record.queue().listed_count() > 0);
  ExtentLedger ledger(store_, record, batch);
  AnchorMatcher anchors(store_, record, batch);
  // Whether new extents are looked for inside old ones by their anchors: not on a first scan, which
  // is followed by a full pass.
  const bool match_anchors = record.scanned_generation() > 0;
  for (const Extent& row : run.rows) {
    ASSIGN_OR_RETURN(const std::optional<IndexedExtent> old, known.Find(row.address));
    if (old && IsKnown(old->extent, row)) continue;
    if (old) RETURN_IF_ERROR(ledger.Erase(*old));
    ledger.Insert(row);
    if (match_anchors) RETURN_IF_ERROR(anchors.MatchExtent(row));
    ++new_count;
  }
  if (run.ends) {
    record.set_scanned_generation(
        std::max(record.scanned_generation(), scan.options.target_generation));
    record.clear_resume_address_blocks();
    record.clear_resume_generation();
  } else if (run.complete_below > record.resume_address_blocks()) {
    record.set_resume_address_blocks(run.complete_below);
    record.set_resume_generation(scan.options.target_generation);
  }
  return absl::OkStatus();
}

}  // namespace onefold::index
