#include "worker/scanner.h"

#include <algorithm>
#include <cstring>

#include "common/limits.h"
#include "common/status_macros.h"
#include "worker/btrfs_items.h"

namespace onefold {
namespace {

constexpr int32_t kStreamBytes = 65536;

}  // namespace

ChecksumReader::ChecksumReader(Volume& volume, int32_t stream_bytes)
    : volume_(volume),
      stream_bytes_(stream_bytes),
      block_bytes_(volume.info().block_bytes),
      checksum_bytes_(volume.info().checksum_bytes),
      // An item is smaller than a node (fs/btrfs/file-item.c, MAX_CSUM_ITEMS).
      reach_bytes_(static_cast<uint64_t>(volume.info().node_bytes) / checksum_bytes_ *
                   block_bytes_) {}

absl::StatusOr<int64_t> ChecksumReader::Read(uint64_t address, int64_t blocks,
                                             std::string& checksums) {
  checksums.assign(blocks * checksum_bytes_, '\0');
  const uint64_t end = address + blocks * block_bytes_;
  int64_t present = 0;
  for (uint64_t at = address; at < end;) {
    if (at < known_.begin || at >= known_.end) RETURN_IF_ERROR(Fetch(at, end));
    const uint64_t until = std::min(end, known_.end);
    present += CopyKnown(at, until, address, checksums);
    at = until;
  }
  return present;
}

absl::Status ChecksumReader::Fetch(uint64_t address, uint64_t wanted_end) {
  // Reading on from where the last piece ended costs less than starting an item's reach earlier.
  const bool reads_on =
      address >= known_.end && known_.end > 0 && address - known_.end < reach_bytes_;
  const uint64_t first = reads_on ? known_.end : address - std::min(address, reach_bytes_);
  runs_.clear();
  data_.clear();
  bool more = false;
  const TreeRange range{.tree = kChecksumTree,
                        .first = {kChecksumObject, kExtentChecksum, first},
                        .last = {kChecksumObject, kExtentChecksum, UINT64_MAX},
                        .buffer_bytes = stream_bytes_};
  uint64_t known_end = 0;
  RETURN_IF_ERROR(volume_.Search(range, [&](const TreeItem& item) {
    const int64_t blocks = static_cast<int64_t>(item.body.size() / checksum_bytes_);
    if (data_.size() >= static_cast<size_t>(stream_bytes_) && known_end > address &&
        (known_end >= wanted_end || data_.size() >= 4 * static_cast<size_t>(stream_bytes_))) {
      more = true;
      return false;
    }
    runs_.push_back({.address = item.key.offset, .blocks = blocks, .at = data_.size()});
    data_.append(item.body.data(), blocks * checksum_bytes_);
    known_end = item.key.offset + blocks * block_bytes_;
    return true;
  }));
  known_ = {.begin = reads_on ? first : address, .end = more ? known_end : UINT64_MAX};
  return absl::OkStatus();
}

int64_t ChecksumReader::CopyKnown(uint64_t begin, uint64_t end, uint64_t base,
                                  std::string& checksums) const {
  auto run = std::upper_bound(runs_.begin(), runs_.end(), begin,
                              [](uint64_t address, const Run& r) { return address < r.address; });
  if (run != runs_.begin()) --run;
  int64_t copied = 0;
  for (; run != runs_.end() && run->address < end; ++run) {
    const uint64_t from = std::max(begin, run->address);
    const uint64_t to = std::min(end, run->address + run->blocks * block_bytes_);
    if (from >= to) continue;
    const uint64_t blocks = (to - from) / block_bytes_;
    std::memcpy(checksums.data() + (from - base) / block_bytes_ * checksum_bytes_,
                data_.data() + run->at + (from - run->address) / block_bytes_ * checksum_bytes_,
                blocks * checksum_bytes_);
    copied += static_cast<int64_t>(blocks);
  }
  return copied;
}

absl::StatusOr<std::vector<AddressRange>> DataChunks(Volume& volume) {
  std::vector<AddressRange> ranges;
  const TreeRange range{.tree = kChunkTree,
                        .first = {kFirstFreeObject, kChunkItem, 0},
                        .last = {kFirstFreeObject, kChunkItem, UINT64_MAX}};
  RETURN_IF_ERROR(volume.Search(range, [&](const TreeItem& item) {
    const auto chunk = ParseChunkItem(item.body);
    if (!chunk || !chunk->holds_data() || chunk->length > UINT64_MAX - item.key.offset) return true;
    const AddressRange found{item.key.offset, item.key.offset + chunk->length};
    if (!ranges.empty() && ranges.back().end == found.begin) {
      ranges.back().end = found.end;
    } else {
      ranges.push_back(found);
    }
    return true;
  }));
  return ranges;
}

absl::Status ForEachExtent(Volume& volume, AddressRange range, uint64_t leaf_generation_min,
                           const std::function<bool(const ScannedExtent&)>& visit) {
  if (range.begin >= range.end) return absl::OkStatus();
  const uint64_t block_bytes = volume.info().block_bytes;
  const TreeRange search{.tree = kExtentTree,
                         .first = {range.begin, 0, 0},
                         .last = {range.end - 1, UINT8_MAX, UINT64_MAX},
                         .leaf_generation_min = leaf_generation_min,
                         .buffer_bytes = kStreamBytes};
  return volume.Search(search, [&](const TreeItem& item) {
    if (item.key.type != kExtentItem) return true;
    const auto extent = ParseExtentItem(item.body);
    const uint64_t length = item.key.offset;
    if (!extent || length == 0 || length % block_bytes != 0 || item.key.object % block_bytes != 0 ||
        length > static_cast<uint64_t>(kExtentBytesMax)) {
      return true;  // a tree block, or nothing that btrfs would write
    }
    return visit({.address = item.key.object,
                  .length = static_cast<int64_t>(length),
                  .generation = extent->generation,
                  .references = extent->references});
  });
}

absl::StatusOr<std::vector<AddressRange>> ChangedChecksums(Volume& volume, int64_t generation) {
  const uint64_t block_bytes = volume.info().block_bytes;
  const uint64_t checksum_bytes = volume.info().checksum_bytes;
  std::vector<AddressRange> ranges;
  const TreeRange range{.tree = kChecksumTree,
                        .first = {kChecksumObject, kExtentChecksum, 0},
                        .last = {kChecksumObject, kExtentChecksum, UINT64_MAX},
                        .leaf_generation_min = static_cast<uint64_t>(generation) + 1,
                        .buffer_bytes = kStreamBytes};
  RETURN_IF_ERROR(volume.Search(range, [&](const TreeItem& item) {
    const AddressRange found{item.key.offset,
                             item.key.offset + item.body.size() / checksum_bytes * block_bytes};
    if (!ranges.empty() && ranges.back().end == found.begin) {
      ranges.back().end = found.end;
    } else {
      ranges.push_back(found);
    }
    return true;
  }));
  return ranges;
}

}  // namespace onefold
