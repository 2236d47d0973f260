#include "coordinator/extent_ledger.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

// The counter of one holder, made if absent.
storage::v1::PinnedRecord& PinnedBy(VolumeRecord& record, int holder) {
  for (storage::v1::PinnedRecord& pinned : *record.mutable_pinned()) {
    if (pinned.holder() == holder) return pinned;
  }
  storage::v1::PinnedRecord& pinned = *record.add_pinned();
  pinned.set_holder(holder);
  return pinned;
}

}  // namespace

std::vector<FingerprintRow> FingerprintRows(const Extent& extent) {
  std::vector<FingerprintRow> rows;
  if (!extent.complete()) return rows;
  rows.push_back({.key = {.digest = extent.digest, .address = extent.address},
                  .value = {.whole = true,
                            .head = extent.head_is_whole(),
                            .length = extent.length,
                            .head_offset = extent.head_is_whole() ? extent.head_offset : 0}});
  if (extent.has_head && !extent.head_is_whole()) {
    rows.push_back({.key = {.digest = extent.head, .address = extent.address},
                    .value = {.head = true,
                              .length = extent.length,
                              .head_offset = extent.head_offset,
                              .whole_digest = extent.digest}});
  }
  return rows;
}

void ExtentLedger::Insert(const Extent& extent) {
  PutExtent(extent);
  for (const FingerprintRow& row : FingerprintRows(extent)) {
    batch_.Put(EncodeKey(volume_, row.key), EncodeRow(row.value));
  }
  for (const Anchor& anchor : extent.anchors) {
    batch_.Put(EncodeKey(volume_, AnchorKey{.digest = anchor.digest,
                                            .address = extent.address,
                                            .offset = anchor.offset}),
               {});
  }
  CountExtent(extent, 1);
  if (!extent.complete()) {
    batch_.Put(AddressKey(Kind::kIncomplete, volume_, extent.address), {});
    return;
  }
  const bool needs_row = NeedsRow(record_.queue());
  if (needs_row) PutWaiting(extent.address, {.epoch = record_.queue().epoch()});
  AddToQueue(1, needs_row ? 1 : 0);
}

absl::Status ExtentLedger::Erase(const IndexedExtent& indexed) {
  const Extent& extent = indexed.extent;
  batch_.Delete(AddressKey(Kind::kExtent, volume_, extent.address));
  for (const FingerprintRow& row : FingerprintRows(extent)) {
    batch_.Delete(EncodeKey(volume_, row.key));
  }
  for (const Anchor& anchor : extent.anchors) {
    batch_.Delete(EncodeKey(
        volume_,
        AnchorKey{.digest = anchor.digest, .address = extent.address, .offset = anchor.offset}));
  }
  if (!extent.complete()) batch_.Delete(AddressKey(Kind::kIncomplete, volume_, extent.address));
  CountExtent(extent, -1);
  LeaveQueue(indexed);
  RETURN_IF_ERROR(DropOutcome(extent));
  return DropMatches(extent.address);
}

absl::Status ExtentLedger::Settle(const IndexedExtent& extent, v1::Outcome outcome,
                                  v1::Holder holder) {
  if (outcome == v1::OUTCOME_FREED || outcome == v1::OUTCOME_GONE) return Erase(extent);
  if (!extent.extent.complete()) return absl::OkStatus();  // no plan ever named it
  switch (outcome) {
    case v1::OUTCOME_KEPT:
      RETURN_IF_ERROR(DropOutcome(extent.extent));
      Keep(extent);
      return absl::OkStatus();
    case v1::OUTCOME_PINNED:
    case v1::OUTCOME_OUT_OF_SCOPE:
      return Hold(extent, {.outcome = outcome, .holder = holder, .length = extent.extent.length});
    case v1::OUTCOME_RETRY: return Retry(extent);
    default: {  // DIFFERS, NO_PARTNER: nothing to remember but that it is answered
      RETURN_IF_ERROR(DropOutcome(extent.extent));
      LeaveQueue(extent);
      if (record_.queue().everything() && !extent.extent.settled) {
        Extent settled = extent.extent;
        settled.settled = true;
        PutExtent(settled);
      }
      return absl::OkStatus();
    }
  }
}

void ExtentLedger::Requeue(uint64_t address, const OutcomeRow& row) {
  batch_.Delete(AddressKey(Kind::kOutcome, volume_, address));
  CountOutcome(row, -1);
  PutWaiting(address, {.epoch = record_.queue().epoch()});
  AddToQueue(1, 1);
}

void ExtentLedger::Unqueue(uint64_t address) {
  batch_.Delete(AddressKey(Kind::kWaiting, volume_, address));
  AddToQueue(-1, -1);
}

void ExtentLedger::Keep(const IndexedExtent& indexed) {
  if (indexed.waiting && !indexed.waiting->whole_answered) {
    PutWaiting(indexed.extent.address, {.whole_answered = true, .epoch = indexed.waiting->epoch});
  }
  if (!indexed.extent.kept) {
    Extent kept = indexed.extent;
    kept.kept = true;
    PutExtent(kept);
  }
}

absl::Status ExtentLedger::Hold(const IndexedExtent& indexed, const OutcomeRow& row) {
  RETURN_IF_ERROR(DropOutcome(indexed.extent));
  batch_.Put(AddressKey(Kind::kOutcome, volume_, indexed.extent.address), EncodeRow(row));
  CountOutcome(row, 1);
  LeaveQueue(indexed);
  if (!indexed.extent.held || !indexed.extent.settled) {
    Extent held = indexed.extent;
    held.held = true;
    held.settled = true;
    PutExtent(held);
  }
  return absl::OkStatus();
}

absl::Status ExtentLedger::Retry(const IndexedExtent& indexed) {
  RETURN_IF_ERROR(DropOutcome(indexed.extent));
  PutWaiting(indexed.extent.address, {.epoch = record_.queue().epoch()});
  AddToQueue(IsQueued(record_.queue(), indexed) ? 0 : 1, indexed.waiting ? 0 : 1);
  return absl::OkStatus();
}

void ExtentLedger::LeaveQueue(const IndexedExtent& indexed) {
  if (indexed.waiting) batch_.Delete(AddressKey(Kind::kWaiting, volume_, indexed.extent.address));
  AddToQueue(IsQueued(record_.queue(), indexed) ? -1 : 0, indexed.waiting ? -1 : 0);
}

absl::Status ExtentLedger::DropOutcome(const Extent& extent) {
  if (!extent.held) return absl::OkStatus();
  const std::string key = AddressKey(Kind::kOutcome, volume_, extent.address);
  ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store_.Get(key));
  if (!bytes) return absl::OkStatus();  // requeued since
  ASSIGN_OR_RETURN(const OutcomeRow row, ParseOutcome(*bytes));
  batch_.Delete(key);
  CountOutcome(row, -1);
  return absl::OkStatus();
}

absl::Status ExtentLedger::DropMatches(uint64_t query) {
  if (!record_.has_matches()) return absl::OkStatus();
  if (matches_ == nullptr) matches_ = store_.LookUp();
  const std::string prefix = KeyPrefix(Kind::kMatch, volume_, query);
  for (matches_->Seek(prefix); matches_->Valid(); matches_->Next()) batch_.Delete(matches_->key());
  return matches_->status();
}

void ExtentLedger::CountExtent(const Extent& extent, int sign) {
  record_.set_extent_count(record_.extent_count() + sign);
  record_.set_extent_blocks(record_.extent_blocks() + sign * int64_t{extent.length});
  if (extent.checksum_state == ChecksumState::kNone) {
    record_.set_without_checksums_count(record_.without_checksums_count() + sign);
  }
  if (extent.checksum_state == ChecksumState::kPartial) {
    record_.set_partial_checksums_count(record_.partial_checksums_count() + sign);
  }
  if (extent.has_head) {
    record_.set_head_count(record_.head_count() + sign);
    // Whether one that goes was new is not known; there are never more new ones than ones.
    const int64_t new_heads = record_.new_head_count() + (sign > 0 ? 1 : 0);
    record_.set_new_head_count(std::min(new_heads, record_.head_count()));
  }
}

void ExtentLedger::CountOutcome(const OutcomeRow& row, int sign) {
  if (row.outcome == v1::OUTCOME_PINNED) {
    storage::v1::PinnedRecord& pinned = PinnedBy(record_, row.holder);
    pinned.set_extent_count(pinned.extent_count() + sign);
    pinned.set_block_count(pinned.block_count() + sign * int64_t{row.length});
  } else {
    record_.set_out_of_scope_count(record_.out_of_scope_count() + sign);
  }
}

void ExtentLedger::AddToQueue(int64_t queued, int64_t listed) {
  QueueRecord& queue = *record_.mutable_queue();
  queue.set_queued_count(queue.queued_count() + queued);
  queue.set_listed_count(queue.listed_count() + listed);
}

void ExtentLedger::PutWaiting(uint64_t address, const Waiting& waiting) {
  batch_.Put(AddressKey(Kind::kWaiting, volume_, address), EncodeRow(waiting));
}

void ExtentLedger::PutExtent(const Extent& extent) {
  batch_.Put(AddressKey(Kind::kExtent, volume_, extent.address), EncodeRow(extent));
}

}  // namespace onefold::index
