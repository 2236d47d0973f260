#include "coordinator/query/census.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/status_macros.h"
#include "coordinator/keys.h"
#include "coordinator/rows.h"

namespace onefold::query {
namespace {

using index::Kind;

// So often it is asked whether to stop.
constexpr size_t kRowsBetweenStops = 4096;

// An extent as it is sorted.
struct Entry {
  uint64_t digest = 0;
  uint32_t volume = 0;
  uint32_t length = 0;  // blocks
  uint64_t address = 0;

  auto order() const { return std::tie(digest, length, volume, address); }
  friend bool operator<(const Entry& a, const Entry& b) { return a.order() < b.order(); }
};

// Volumes whose digests may be compared.
using Shape = std::pair<int32_t, int32_t>;
Shape ShapeOf(const CountedVolume& volume) {
  return {volume.record.checksum_kind(), volume.record.block_bytes()};
}

class Counter {
 public:
  Counter(const index::OrderedStore& store, absl::Span<const CountedVolume> volumes,
          const CensusOptions& options, absl::FunctionRef<bool()> stop)
      : store_(store), volumes_(volumes), options_(options), stop_(stop) {
    for (const CountedVolume& volume : volumes) {
      census_.volumes.push_back({.uuid = volume.uuid, .largest = {}});
      shapes_.push_back(ShapeOf(volume));
    }
  }

  absl::StatusOr<Census> Take() {
    std::vector<Shape> shapes = shapes_;
    std::sort(shapes.begin(), shapes.end());
    shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
    census_.mixed_checksums = shapes.size() > 1;
    for (const Shape& shape : shapes) RETURN_IF_ERROR(TakeShape(shape));
    for (Census::VolumeCount& volume : census_.volumes) {
      std::sort_heap(volume.largest.begin(), volume.largest.end(), IsLarger);
    }
    for (const auto& [key, bytes] : pairs_) {
      census_.pairs.push_back({.first = static_cast<uint32_t>(key >> 32),
                               .second = static_cast<uint32_t>(key),
                               .shared_bytes = bytes});
    }
    std::sort(census_.pairs.begin(), census_.pairs.end(),
              [](const Census::Pair& a, const Census::Pair& b) {
                return std::tie(b.shared_bytes, a.first, a.second) <
                       std::tie(a.shared_bytes, b.first, b.second);
              });
    return std::move(census_);
  }

 private:
  static bool IsLarger(const Census::Group& a, const Census::Group& b) {
    return std::make_tuple(a.duplicate_bytes(), b.digest) >
           std::make_tuple(b.duplicate_bytes(), a.digest);
  }

  absl::Status TakeShape(const Shape& shape) {
    int64_t extents = 0;
    for (size_t i = 0; i < volumes_.size(); ++i) {
      if (shapes_[i] == shape) extents += volumes_[i].record.extent_count();
    }
    // Rows of heads come along. Digests are spread evenly, as hashes are.
    const uint64_t slices =
        2 * static_cast<uint64_t>(extents) / std::max<size_t>(1, options_.rows_at_a_time) + 1;
    const uint64_t width = ~uint64_t{0} / slices;
    for (uint64_t slice = 0; slice < slices; ++slice) {
      const uint64_t first = slice * width;
      const uint64_t last = slice + 1 == slices ? ~uint64_t{0} : first + width - 1;
      entries_.clear();
      for (size_t i = 0; i < volumes_.size(); ++i) {
        if (shapes_[i] == shape) RETURN_IF_ERROR(Read(static_cast<uint32_t>(i), first, last));
      }
      std::sort(entries_.begin(), entries_.end());
      CountEntries(shape.second);
    }
    return absl::OkStatus();
  }

  absl::Status Read(uint32_t volume, uint64_t first, uint64_t last) {
    const index::VolumeNumber number = index::NumberOf(volumes_[volume].record);
    const auto rows = store_.Walk(index::KeyPrefix(Kind::kFingerprint, number));
    for (rows->Seek(index::KeyPrefix(Kind::kFingerprint, number, first)); rows->Valid();
         rows->Next()) {
      if (++rows_read_ % kRowsBetweenStops == 0 && stop_()) {
        return absl::CancelledError("the census was stopped");
      }
      ASSIGN_OR_RETURN(const index::FingerprintKey key, index::ParseFingerprintKey(rows->key()));
      if (key.digest > last) break;
      ASSIGN_OR_RETURN(const index::Fingerprint value, index::ParseFingerprint(rows->value()));
      if (!value.whole) continue;
      entries_.push_back(
          {.digest = key.digest, .volume = volume, .length = value.length, .address = key.address});
    }
    return rows->status();
  }

  void CountEntries(int64_t block_bytes) {
    for (size_t begin = 0; begin < entries_.size();) {
      size_t end = begin;
      holders_.clear();
      while (end < entries_.size() && entries_[end].digest == entries_[begin].digest &&
             entries_[end].length == entries_[begin].length) {
        const size_t of_volume = end;
        while (end < entries_.size() && entries_[end].digest == entries_[begin].digest &&
               entries_[end].length == entries_[begin].length &&
               entries_[end].volume == entries_[of_volume].volume) {
          ++end;
        }
        CountWithin(of_volume, end, block_bytes);
        holders_.push_back(entries_[of_volume].volume);
      }
      if (holders_.size() > 1) CountBetween(entries_[begin].length * block_bytes);
      begin = end;
    }
  }

  void CountWithin(size_t begin, size_t end, int64_t block_bytes) {
    Census::VolumeCount& volume = census_.volumes[entries_[begin].volume];
    const Census::Group group{
        .digest = entries_[begin].digest,
        .extent_bytes = entries_[begin].length * block_bytes,
        .copy_count = static_cast<int64_t>(end - begin),
        .address = entries_[begin].address * static_cast<uint64_t>(block_bytes)};
    volume.distinct_bytes += group.extent_bytes;
    if (group.copy_count < 2) return;
    volume.duplicate_bytes += group.duplicate_bytes();
    ++volume.group_count;
    // A heap with the smallest of the largest on top.
    std::vector<Census::Group>& largest = volume.largest;
    if (largest.size() >= options_.groups_kept) {
      if (largest.empty() || !IsLarger(group, largest.front())) return;
      std::pop_heap(largest.begin(), largest.end(), IsLarger);
      largest.back() = group;
    } else {
      largest.push_back(group);
    }
    std::push_heap(largest.begin(), largest.end(), IsLarger);
  }

  void CountBetween(int64_t bytes) {
    for (const uint32_t holder : holders_) census_.volumes[holder].shared_bytes += bytes;
    if (holders_.size() >= kEverywhereVolumes) {
      census_.everywhere_bytes += bytes;
      return;
    }
    for (size_t i = 0; i < holders_.size(); ++i) {
      for (size_t j = i + 1; j < holders_.size(); ++j) {
        pairs_[uint64_t{holders_[i]} << 32 | holders_[j]] += bytes;
      }
    }
  }

  const index::OrderedStore& store_;
  const absl::Span<const CountedVolume> volumes_;
  const CensusOptions options_;
  const absl::FunctionRef<bool()> stop_;
  std::vector<Shape> shapes_;  // of each volume
  Census census_;
  absl::flat_hash_map<uint64_t, int64_t> pairs_;  // (first, second) → bytes
  std::vector<Entry> entries_;                    // of the slice
  std::vector<uint32_t> holders_;                 // of one content, ascending
  size_t rows_read_ = 0;
};

}  // namespace

absl::StatusOr<Census> TakeCensus(const index::OrderedStore& store,
                                  absl::Span<const CountedVolume> volumes,
                                  const CensusOptions& options, absl::FunctionRef<bool()> stop) {
  return Counter(store, volumes, options, stop).Take();
}

}  // namespace onefold::query
