// ScanUpload: one scan of a volume on its way into the index, see scan_writer.h.
//
// Not thread-safe. An upload that is destroyed without End leaves what was written, and a place to
// resume at.

#ifndef ONEFOLD_COORDINATOR_SCAN_UPLOAD_H_
#define ONEFOLD_COORDINATOR_SCAN_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/scan_writer.h"

namespace onefold::index {

class ScanUpload {
 public:
  using Options = ScanOptions;
  using Progress = ScanProgress;

  // `writer` and `volume` must outlive the upload.
  ScanUpload(ScanWriter& writer, Volume& volume, Options options)
      : writer_(writer), scan_(volume, options) {}
  ~ScanUpload() { writer_.Forget(scan_); }
  ScanUpload(const ScanUpload&) = delete;
  ScanUpload& operator=(const ScanUpload&) = delete;

  // Waits until so many rows and anchors may be held in memory; the next Add brings them. For
  // callers that know how much comes before they unpack it.
  void AwaitRoom(size_t row_count) { writer_.AwaitRoom(scan_, row_count); }

  // Adds rows with distinct addresses. Everything below `complete_below` (blocks) has been added
  // then; 0 leaves that as it was. May wait for earlier rows to be written. Returns the error of an
  // earlier write; then nothing more is written.
  absl::Status Add(std::vector<Extent> rows, uint64_t complete_below) {
    return writer_.Add(scan_, std::move(rows), complete_below);
  }

  // Writes what is left and moves the cursor. All is durable when it returns.
  absl::Status End() { return writer_.End(scan_); }

  // What is durable now.
  Progress progress() const { return writer_.ProgressOf(scan_); }

 private:
  ScanWriter& writer_;
  ScanWriter::Scan scan_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_SCAN_UPLOAD_H_
