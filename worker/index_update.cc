#include "worker/index_update.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

// Windows of so many blocks are sent as they are; beyond, the filter of heads is fetched first.
constexpr int64_t kUnfilteredBlocksMax = 65536;

// A few leaves of the extent tree: how much is read while it should wait.
constexpr int64_t kExtentsPerWait = 512;

absl::Status Stopped() { return absl::CancelledError("stopped"); }

}  // namespace

IndexUpdate::IndexUpdate(Volume& volume, CoordinatorClient& coordinator, StopSignal& stop,
                         Progress& progress, OperationGate* gate)
    : volume_(volume), coordinator_(coordinator), stop_(stop), progress_(progress), gate_(gate) {}

bool IndexUpdate::GoesOn() {
  if (gate_ != nullptr && extents_seen_++ % kExtentsPerWait == 0) gate_->Wait(0, 0, stop_);
  return !stop_.requested();
}

absl::Status IndexUpdate::Scan(const VolumeOrder& order, int64_t target_generation) {
  ASSIGN_OR_RETURN(const std::vector<AddressRange> chunks, DataChunks(volume_));
  ASSIGN_OR_RETURN(const std::unique_ptr<ExtentUpload> upload,
                   coordinator_.BeginScan(target_generation));
  ChecksumReader checksums(volume_);
  // What was seen without checksums, also by a first scan that broke off, may have got some since.
  const int64_t seen_generation =
      order.scanned_generation > 0 ? order.scanned_generation : order.resume_generation;
  if (seen_generation > 0) RETURN_IF_ERROR(Recheck(seen_generation, checksums, *upload));
  for (const AddressRange& chunk : chunks) {
    // Below where an earlier scan broke off, only what is newer than that scan is missing.
    const uint64_t resume = std::clamp(order.resume_address, chunk.begin, chunk.end);
    RETURN_IF_ERROR(ScanRange({chunk.begin, resume},
                              std::max(order.scanned_generation, order.resume_generation),
                              checksums, *upload));
    RETURN_IF_ERROR(ScanRange({resume, chunk.end}, order.scanned_generation, checksums, *upload));
  }
  ASSIGN_OR_RETURN(totals_, upload->End());
  return absl::OkStatus();
}

absl::Status IndexUpdate::ScanRange(AddressRange range, int64_t generation,
                                    ChecksumReader& checksums, ExtentUpload& upload) {
  absl::Status failure;
  RETURN_IF_ERROR(ForEachExtent(volume_, range, generation + 1, [&](const ScannedExtent& extent) {
    if (extent.generation <= static_cast<uint64_t>(generation)) return true;
    failure = !GoesOn() ? Stopped() : upload.CompleteBelow(extent.address);
    failure.Update(AddExtent(extent, checksums, upload));
    return failure.ok();
  }));
  RETURN_IF_ERROR(failure);
  return upload.CompleteBelow(range.end);
}

absl::Status IndexUpdate::AddExtent(const ScannedExtent& extent, ChecksumReader& checksums,
                                    ExtentUpload& upload) {
  const VolumeInfo& info = volume_.info();
  const int64_t blocks = extent.length / info.block_bytes;
  ASSIGN_OR_RETURN(const int64_t present, checksums.Read(extent.address, blocks, buffer_));
  ExtentRow row{.address = extent.address,
                .length_blocks = static_cast<uint32_t>(blocks),
                .generation = extent.generation};
  if (present == blocks) {
    MakeFingerprint(buffer_, info.checksum_bytes, info.checksum_kind == kChecksumKindCrc32c,
                    fingerprint_);
    row.fingerprint = &fingerprint_;
    ++extents_scanned_;
    bytes_scanned_ += extent.length;
    blocks_scanned_ += blocks;
    ++progress_.extents_scanned;
  } else {
    row.state = present == 0 ? ChecksumState::kNone : ChecksumState::kPartial;
  }
  progress_.scan_bytes_done += extent.length;
  return upload.Add(row);
}

absl::Status IndexUpdate::Recheck(int64_t generation, ChecksumReader& checksums,
                                  ExtentUpload& upload) {
  ASSIGN_OR_RETURN(const std::vector<IncompleteExtent> extents,
                   coordinator_.ListIncompleteExtents());
  if (extents.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<AddressRange> changed, ChangedChecksums(volume_, generation));
  for (const IncompleteExtent& extent : extents) {
    const uint64_t length = uint64_t{extent.length_blocks} * volume_.info().block_bytes;
    const auto after = std::upper_bound(
        changed.begin(), changed.end(), extent.address,
        [](uint64_t address, const AddressRange& range) { return address < range.end; });
    if (after == changed.end() || after->begin >= extent.address + length) continue;
    // Still the extent that was seen? One of another generation comes with the scan.
    absl::Status failure;
    RETURN_IF_ERROR(ForEachExtent(
        volume_, {extent.address, extent.address + 1}, 0, [&](const ScannedExtent& found) {
          if (found.address == extent.address && found.generation == extent.generation) {
            failure = AddExtent(found, checksums, upload);
          }
          return false;
        }));
    RETURN_IF_ERROR(failure);
    if (stop_.requested()) return Stopped();
  }
  return absl::OkStatus();
}

absl::Status IndexUpdate::Sweep() {
  ASSIGN_OR_RETURN(const std::vector<AddressRange> chunks, DataChunks(volume_));
  ASSIGN_OR_RETURN(const std::unique_ptr<ExtentUpload> upload, coordinator_.BeginSweep());
  const int64_t block_bytes = volume_.info().block_bytes;
  for (const AddressRange& chunk : chunks) {
    absl::Status failure;
    RETURN_IF_ERROR(ForEachExtent(volume_, chunk, 0, [&](const ScannedExtent& extent) {
      failure = !GoesOn() ? Stopped() : upload->CompleteBelow(extent.address);
      failure.Update(
          upload->Add({.address = extent.address,
                       .length_blocks = static_cast<uint32_t>(extent.length / block_bytes),
                       .generation = extent.generation}));
      return failure.ok();
    }));
    RETURN_IF_ERROR(failure);
    RETURN_IF_ERROR(upload->CompleteBelow(chunk.end));
  }
  ASSIGN_OR_RETURN(totals_, upload->End());
  return absl::OkStatus();
}

absl::Status IndexUpdate::StreamWindows(int64_t generation) {
  const VolumeInfo& info = volume_.info();
  const bool crc32c = info.checksum_kind == kChecksumKindCrc32c;
  ASSIGN_OR_RETURN(const std::vector<AddressRange> chunks, DataChunks(volume_));
  std::optional<HeadQuery> heads;
  if (generation == 0 || blocks_scanned_ > kUnfilteredBlocksMax) {
    ASSIGN_OR_RETURN(heads, coordinator_.GetHeads());
  }
  const uint32_t window_lengths = heads ? heads->window_lengths : (1u << kHeadBlocks) - 1;
  ASSIGN_OR_RETURN(const std::unique_ptr<HitUpload> upload,
                   coordinator_.BeginHits(generation == 0));
  ChecksumReader checksums(volume_);
  const auto stream = [&](const ScannedExtent& extent) -> absl::Status {
    const int64_t blocks = extent.length / info.block_bytes;
    ASSIGN_OR_RETURN(const int64_t present, checksums.Read(extent.address, blocks, buffer_));
    if (present != blocks) return absl::OkStatus();
    absl::Status failure;
    for (int32_t length = 1; length <= kHeadBlocks && length <= blocks; ++length) {
      if ((window_lengths & (1u << (length - 1))) == 0) continue;
      bool is_head = true;  // the first window of an extent is its own head
      ForEachWindow(buffer_, info.checksum_bytes, length, crc32c,
                    [&](uint64_t digest, uint32_t offset) {
                      if (std::exchange(is_head, false) && length == HeadWindowBlocks(blocks))
                        return;
                      if (heads && !heads->filter.MayContain(digest)) return;
                      if (failure.ok()) failure = upload->Add(digest, extent.address, offset);
                    });
    }
    return failure;
  };
  for (const AddressRange& chunk : chunks) {
    absl::Status failure;
    RETURN_IF_ERROR(ForEachExtent(volume_, chunk, generation > 0 ? generation + 1 : 0,
                                  [&](const ScannedExtent& extent) {
                                    if (extent.generation <= static_cast<uint64_t>(generation))
                                      return true;
                                    failure = !GoesOn() ? Stopped() : stream(extent);
                                    return failure.ok();
                                  }));
    RETURN_IF_ERROR(failure);
  }
  return upload->End();
}

}  // namespace onefold
