#include "coordinator/index_readers.h"

#include <algorithm>
#include <optional>

#include "common/limits.h"
#include "common/status_macros.h"

namespace onefold::index {

absl::StatusOr<Heads> ReadHeads(const OrderedStore& store, const VolumeRecord& record) {
  Heads heads{.filter = HeadFilter::ForHeads(record.head_count())};
  const auto rows = store.Walk(KeyPrefix(Kind::kFingerprint, NumberOf(record)));
  for (; rows->Valid(); rows->Next()) {
    ASSIGN_OR_RETURN(const Fingerprint fingerprint, ParseFingerprint(rows->value()));
    if (!fingerprint.head) continue;
    ASSIGN_OR_RETURN(const FingerprintKey key, ParseFingerprintKey(rows->key()));
    heads.filter.Add(key.digest);
    heads.window_lengths |= 1u << (HeadWindowBlocks(fingerprint.length) - 1);
    // Heads that an earlier version made of short extents have their length.
    const uint32_t whole = std::clamp<uint32_t>(fingerprint.length, 1, kHeadBlocks);
    heads.window_lengths |= 1u << (whole - 1);
  }
  RETURN_IF_ERROR(rows->status());
  return heads;
}

IncompleteReader::IncompleteReader(const OrderedStore& store, VolumeNumber volume)
    : rows_(store.Walk(KeyPrefix(Kind::kIncomplete, volume))),
      extents_(store, volume, /*with_waiting=*/false) {}

absl::StatusOr<std::vector<Extent>> IncompleteReader::Next(size_t count_max) {
  std::vector<Extent> extents;
  for (; extents.size() < count_max && rows_->Valid(); rows_->Next()) {
    ASSIGN_OR_RETURN(const uint64_t address, ParseAddressKey(Kind::kIncomplete, rows_->key()));
    ASSIGN_OR_RETURN(std::optional<IndexedExtent> extent, extents_.Find(address));
    if (extent && !extent->extent.complete()) extents.push_back(std::move(extent->extent));
  }
  RETURN_IF_ERROR(rows_->status());
  return extents;
}

}  // namespace onefold::index
