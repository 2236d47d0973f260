#include "coordinator/sorted_reader.h"

#include "common/status_macros.h"

namespace onefold::index {
namespace {

// A jump costs about as much as this many steps.
constexpr int kStepsBeforeJump = 12;

}  // namespace

absl::StatusOr<bool> SortedReader::Find(absl::string_view key) {
  const bool forward = walks_ && positioned_ && key >= absl::string_view(gap_begin_);
  if (forward) {
    for (int i = 0; i < kStepsBeforeJump && rows_->Valid() && rows_->key() < key; ++i) {
      rows_->Next();
    }
  }
  // Forward of the last row there is nothing to jump to.
  if (!forward || (rows_->Valid() && rows_->key() < key)) rows_->Seek(key);
  positioned_ = true;
  gap_begin_.assign(key.data(), key.size());
  if (rows_->Valid()) return rows_->key() == key;
  RETURN_IF_ERROR(rows_->status());
  return false;
}

void SortedReader::Next() {
  gap_begin_.assign(rows_->key().data(), rows_->key().size());
  gap_begin_.push_back('\0');  // the first key behind
  rows_->Next();
}

ExtentReader::ExtentReader(const OrderedStore& store, VolumeNumber volume, bool with_waiting)
    : volume_(volume), extents_(store, KeyPrefix(Kind::kExtent, volume)) {
  if (with_waiting) waiting_.emplace(store, KeyPrefix(Kind::kWaiting, volume));
}

absl::StatusOr<std::optional<IndexedExtent>> ExtentReader::Find(uint64_t address) {
  ASSIGN_OR_RETURN(const bool found, extents_.Find(AddressKey(Kind::kExtent, volume_, address)));
  if (!found) return std::nullopt;
  IndexedExtent result;
  ASSIGN_OR_RETURN(result.extent, ParseExtent(address, extents_.row().value()));
  if (waiting_) {
    ASSIGN_OR_RETURN(const bool waits,
                     waiting_->Find(AddressKey(Kind::kWaiting, volume_, address)));
    if (waits) {
      ASSIGN_OR_RETURN(result.waiting, ParseWaiting(waiting_->row().value()));
    }
  }
  return result;
}

}  // namespace onefold::index
