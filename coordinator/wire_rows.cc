#include "coordinator/wire_rows.h"

#include <bit>
#include <cstddef>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/limits.h"
#include "common/status_macros.h"

namespace onefold::index {
namespace {

// Addresses of btrfs fit in 63 bits.
constexpr uint64_t kAddressMax = std::numeric_limits<int64_t>::max();
constexpr uint64_t kGenerationMax = std::numeric_limits<int64_t>::max();

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckColumn(absl::string_view name, size_t size, size_t expected) {
  if (size == expected) return absl::OkStatus();
  return Invalid(name, ": ", size, " entries, not ", expected);
}

absl::Status CheckDigests(absl::string_view name, const std::string& bytes, size_t expected) {
  if (bytes.size() % 8 != 0) return Invalid(name, ": no multiple of 8 bytes");
  return CheckColumn(name, bytes.size() / 8, expected);
}

uint64_t DigestAt(const std::string& digests, int i) {
  return LoadLittle64(digests.data() + size_t{8} * static_cast<size_t>(i));
}

// The columns of every upload.
absl::Status CheckPlaces(const v1::ExtentColumns& columns) {
  if (columns.count() < 0 || columns.count() > kUploadRowsPerBatchMax) {
    return Invalid("count: ", columns.count(), ", not 0 to ", kUploadRowsPerBatchMax);
  }
  const size_t count = columns.count();
  RETURN_IF_ERROR(CheckColumn("address_delta_blocks", columns.address_delta_blocks_size(), count));
  RETURN_IF_ERROR(CheckColumn("length_blocks", columns.length_blocks_size(), count));
  return CheckColumn("generation", columns.generation_size(), count);
}

absl::Status CheckFingerprints(const v1::ExtentColumns& columns) {
  const size_t count = columns.count();
  RETURN_IF_ERROR(CheckDigests("digests", columns.digests(), count));
  RETURN_IF_ERROR(CheckDigests("heads", columns.heads(), count));
  RETURN_IF_ERROR(CheckColumn("head_offset_blocks", columns.head_offset_blocks_size(), count));
  RETURN_IF_ERROR(CheckColumn("checksum_states", columns.checksum_states_size(), count));
  RETURN_IF_ERROR(CheckColumn("anchor_counts", columns.anchor_counts_size(), count));
  uint64_t anchor_count = 0;
  for (const uint32_t anchors : columns.anchor_counts()) anchor_count += anchors;
  RETURN_IF_ERROR(CheckDigests("anchors", columns.anchors(), anchor_count));
  return CheckColumn("anchor_offset_blocks", columns.anchor_offset_blocks_size(), anchor_count);
}

// Walks the columns that say where extents are, row by row.
class PlaceReader {
 public:
  PlaceReader(const v1::ExtentColumns& columns, int32_t block_bytes)
      : columns_(columns),
        address_max_(kAddressMax / static_cast<uint64_t>(block_bytes)),
        length_max_(static_cast<uint64_t>(kExtentBytesMax / block_bytes)) {}

  absl::Status Read(int i) {
    const uint64_t delta = columns_.address_delta_blocks(i);
    if (delta == 0) return Invalid("address_delta_blocks: row ", i, " does not ascend");
    if (delta > address_max_ - address_) return Invalid("address_delta_blocks: too large, row ", i);
    address_ += delta;
    const uint32_t length = columns_.length_blocks(i);
    if (length == 0 || length > length_max_) {
      return Invalid("length_blocks: ", length, " in row ", i, ", not 1 to ", length_max_);
    }
    if (columns_.generation(i) > kGenerationMax) return Invalid("generation: too large, row ", i);
    return absl::OkStatus();
  }
  uint64_t address() const { return address_; }

 private:
  const v1::ExtentColumns& columns_;
  const uint64_t address_max_;
  const uint64_t length_max_;
  uint64_t address_ = 0;
};

absl::Status ReadFingerprint(const v1::ExtentColumns& columns, int i, Extent& extent) {
  switch (columns.checksum_states(i)) {
    case v1::CHECKSUM_STATE_UNSPECIFIED: break;
    case v1::CHECKSUM_STATE_NONE: extent.checksum_state = ChecksumState::kNone; break;
    case v1::CHECKSUM_STATE_PARTIAL: extent.checksum_state = ChecksumState::kPartial; break;
    default: return Invalid("checksum_states: ", columns.checksum_states(i), " in row ", i);
  }
  if (!extent.complete()) return absl::OkStatus();
  extent.digest = DigestAt(columns.digests(), i);
  extent.head = DigestAt(columns.heads(), i);
  extent.has_head = extent.head != 0;
  if (!extent.has_head) return absl::OkStatus();
  extent.head_offset = columns.head_offset_blocks(i);
  if (extent.head_offset >= extent.length) {
    return Invalid("head_offset_blocks: behind the end in row ", i);
  }
  return absl::OkStatus();
}

// Takes the anchors of row `i`, which begin at `next`.
absl::Status ReadAnchors(const v1::ExtentColumns& columns, int i, int& next, Extent& extent) {
  const uint32_t count = columns.anchor_counts(i);
  if (count == 0) return absl::OkStatus();
  if (!extent.complete() || count > extent.length) {
    return Invalid("anchor_counts: ", count, " in row ", i, " are too many");
  }
  extent.anchors.reserve(count);
  for (uint32_t n = 0; n < count; ++n, ++next) {
    const uint32_t offset = columns.anchor_offset_blocks(next);
    if (offset >= extent.length) return Invalid("anchor_offset_blocks: behind the end in row ", i);
    extent.anchors.push_back({.digest = DigestAt(columns.anchors(), next), .offset = offset});
  }
  return absl::OkStatus();
}

bool IsKnownOutcome(int outcome) {
  return v1::Outcome_IsValid(outcome) && outcome != v1::OUTCOME_UNSPECIFIED;
}

bool IsKnownHolder(int holder) {
  return v1::Holder_IsValid(holder) && holder != v1::HOLDER_UNSPECIFIED;
}

}  // namespace

absl::StatusOr<VolumeUuid> ParseUuid(absl::string_view bytes) {
  const auto uuid = VolumeUuidFromBytes(bytes);
  if (!uuid) return Invalid("volume uuid: ", bytes.size(), " bytes, not 16");
  return *uuid;
}

absl::StatusOr<VolumeUuid> ParseVolumeState(const v1::VolumeState& state) {
  const int32_t block_bytes = state.block_bytes();
  if (block_bytes < kBlockBytesMin || block_bytes > kBlockBytesMax ||
      !std::has_single_bit(static_cast<uint32_t>(block_bytes))) {
    return Invalid("block_bytes: ", block_bytes, " is no power of two from ", kBlockBytesMin,
                   " to ", kBlockBytesMax);
  }
  if (!v1::ChecksumKind_IsValid(state.checksum_kind()) ||
      state.checksum_kind() == v1::CHECKSUM_KIND_UNSPECIFIED) {
    return Invalid("checksum_kind: ", state.checksum_kind(), " is unknown");
  }
  if (state.filesystem_generation() < 0) return Invalid("filesystem_generation: negative");
  return ParseUuid(state.uuid());
}

absl::StatusOr<uint64_t> ParseAddress(uint64_t address_bytes, int32_t block_bytes) {
  if (address_bytes > kAddressMax) return Invalid("address: ", address_bytes, " is too large");
  return address_bytes / static_cast<uint64_t>(block_bytes);
}

absl::StatusOr<std::vector<Extent>> ParseScanRows(const v1::ExtentColumns& columns,
                                                  int32_t block_bytes) {
  RETURN_IF_ERROR(CheckPlaces(columns));
  RETURN_IF_ERROR(CheckFingerprints(columns));
  PlaceReader places(columns, block_bytes);
  std::vector<Extent> extents(columns.count());
  int next_anchor = 0;
  for (int i = 0; i < columns.count(); ++i) {
    RETURN_IF_ERROR(places.Read(i));
    Extent& extent = extents[i];
    extent.address = places.address();
    extent.length = columns.length_blocks(i);
    extent.generation = columns.generation(i);
    RETURN_IF_ERROR(ReadFingerprint(columns, i, extent));
    RETURN_IF_ERROR(ReadAnchors(columns, i, next_anchor, extent));
  }
  return extents;
}

absl::StatusOr<std::vector<ListedExtent>> ParseSweepRows(const v1::ExtentColumns& columns,
                                                         int32_t block_bytes) {
  RETURN_IF_ERROR(CheckPlaces(columns));
  PlaceReader places(columns, block_bytes);
  std::vector<ListedExtent> extents(columns.count());
  for (int i = 0; i < columns.count(); ++i) {
    RETURN_IF_ERROR(places.Read(i));
    extents[i] = {.address = places.address(), .generation = columns.generation(i)};
  }
  return extents;
}

absl::StatusOr<std::vector<Hit>> ParseHits(const v1::HitBatch& batch) {
  const int count = batch.address_blocks_size();
  if (count > kHitsPerBatchMax) return Invalid("address_blocks: ", count, " entries are too many");
  RETURN_IF_ERROR(CheckDigests("digests", batch.digests(), count));
  RETURN_IF_ERROR(CheckColumn("offset_blocks", batch.offset_blocks_size(), count));
  std::vector<Hit> hits(count);
  for (int i = 0; i < count; ++i) {
    hits[i] = {.digest = DigestAt(batch.digests(), i),
               .address = batch.address_blocks(i),
               .offset = batch.offset_blocks(i)};
  }
  return hits;
}

absl::StatusOr<std::vector<ExtentResult>> ParseResults(const v1::ResultBatch& batch) {
  if (batch.results_size() > kResultsPerBatchMax) {
    return Invalid("results: ", batch.results_size(), " are more than ", kResultsPerBatchMax);
  }
  std::vector<ExtentResult> results;
  results.reserve(batch.results_size());
  for (const v1::Result& result : batch.results()) {
    if (!IsKnownOutcome(result.outcome())) return Invalid("outcome: ", result.outcome());
    const bool pinned = result.outcome() == v1::OUTCOME_PINNED;
    if (pinned && !IsKnownHolder(result.holder())) return Invalid("holder: ", result.holder());
    results.push_back({.address = result.address_blocks(),
                       .generation = result.generation(),
                       .outcome = result.outcome(),
                       .holder = pinned ? result.holder() : v1::HOLDER_UNSPECIFIED});
  }
  return results;
}

absl::StatusOr<PlanEnd> ParsePlanEnd(const v1::EndPlan& end) {
  PlanEnd parsed{.scope_digest = end.scope_digest(),
                 .subvolume_set_digest = end.subvolume_set_digest(),
                 .inside_done = end.inside()};
  for (const int kind : end.kinds()) {
    if (kind != v1::PLAN_KIND_WHOLE && kind != v1::PLAN_KIND_INSIDE) {
      return Invalid("kinds: ", kind, " is unknown");
    }
    (kind == v1::PLAN_KIND_WHOLE ? parsed.whole : parsed.inside) = true;
  }
  return parsed;
}

void WriteIncomplete(const std::vector<Extent>& extents, v1::ExtentColumns& columns) {
  columns.set_count(static_cast<int32_t>(extents.size()));
  uint64_t last_address = 0;
  for (const Extent& extent : extents) {
    columns.add_address_delta_blocks(extent.address - last_address);
    columns.add_length_blocks(extent.length);
    columns.add_generation(extent.generation);
    columns.add_checksum_states(static_cast<v1::ChecksumState>(extent.checksum_state));
    last_address = extent.address;
  }
}

void WriteGroup(const PlanGroup& group, v1::Group& message) {
  message.set_position(EncodePosition(group.position));
  message.set_paged(group.paged);
  message.set_digest(group.digest);
  message.set_dropped_candidate_count(group.dropped_count);
  for (const PlanMember& member : group.members) {
    v1::GroupMember& to = *message.add_members();
    to.set_address_blocks(member.address);
    to.set_length_blocks(member.length);
    to.set_generation(member.generation);
    to.set_kept_before(member.kept_before);
    to.set_queued(member.queued);
    to.set_delta_blocks(member.delta);
  }
}

}  // namespace onefold::index
