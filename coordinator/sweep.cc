#include "coordinator/sweep.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "common/status_macros.h"
#include "coordinator/extent_ledger.h"
#include "coordinator/sorted_reader.h"

namespace onefold::index {
namespace {

// Rows of one batch: bounds its memory, and how long others wait.
constexpr size_t kRowsPerStep = 65536;

}  // namespace

absl::Status Sweep::Add(const std::vector<ListedExtent>& rows, uint64_t complete_below) {
  if (!rows.empty() && rows.front().address < next_) {
    return absl::InvalidArgumentError("a sweep must list extents in ascending order");
  }
  const uint64_t end =
      rows.empty() ? complete_below : std::max(complete_below, rows.back().address + 1);
  return RemoveMissing(rows, end);
}

absl::Status Sweep::End() { return RemoveMissing({}, std::numeric_limits<uint64_t>::max()); }

absl::Status Sweep::RemoveMissing(const std::vector<ListedExtent>& rows, uint64_t end) {
  auto listed = rows.begin();
  while (next_ < end) {
    uint64_t reached = end;
    int64_t deleted_count = 0;
    RETURN_IF_ERROR(volume_.Update(
        options_.incarnation, [&](VolumeRecord& record, RowBatch& batch) -> absl::Status {
          const auto extents = store_.Walk(KeyPrefix(Kind::kExtent, NumberOf(record)));
          ExtentReader reader(store_, NumberOf(record), record.queue().listed_count() > 0);
          ExtentLedger ledger(store_, record, batch);
          for (extents->Seek(AddressKey(Kind::kExtent, NumberOf(record), next_)); extents->Valid();
               extents->Next()) {
            ASSIGN_OR_RETURN(const uint64_t address,
                             ParseAddressKey(Kind::kExtent, extents->key()));
            if (address >= end) break;
            if (batch.size() >= kRowsPerStep) {
              reached = address;
              break;
            }
            ASSIGN_OR_RETURN(const Extent extent, ParseExtent(address, extents->value()));
            while (listed != rows.end() && listed->address < address) ++listed;
            const bool there = listed != rows.end() && listed->address == address &&
                               listed->generation == extent.generation;
            const bool too_new =
                options_.target_generation > 0 &&
                extent.generation > static_cast<uint64_t>(options_.target_generation);
            if (there || too_new) continue;
            ASSIGN_OR_RETURN(const std::optional<IndexedExtent> gone, reader.Find(address));
            if (gone) RETURN_IF_ERROR(ledger.Erase(*gone));
            ++deleted_count;
          }
          return extents->status();
        }));
    next_ = reached;
    deleted_count_ += deleted_count;
  }
  return absl::OkStatus();
}

}  // namespace onefold::index
