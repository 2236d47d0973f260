#include "coordinator/outcome_recorder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/bytes.h"
#include "common/status_macros.h"
#include "coordinator/extent_ledger.h"
#include "coordinator/sorted_reader.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

// Rows that are moved or deleted in one batch: bounds its memory and how long others wait.
constexpr size_t kRowsPerStep = 65536;

absl::Status ApplyResults(const OrderedStore& store, const std::vector<ExtentResult>& results,
                          VolumeRecord& record, RowBatch& batch) {
  ExtentReader extents(store, NumberOf(record), record.queue().listed_count() > 0);
  ExtentLedger ledger(store, record, batch);
  for (size_t i = 0; i < results.size(); ++i) {
    const ExtentResult& result = results[i];
    if (i + 1 < results.size() && results[i + 1].address == result.address) continue;
    ASSIGN_OR_RETURN(const std::optional<IndexedExtent> extent, extents.Find(result.address));
    if (!extent || extent->extent.generation != result.generation) continue;
    RETURN_IF_ERROR(ledger.Settle(*extent, result.outcome, result.holder));
  }
  return absl::OkStatus();
}

// Walks all rows of one kind in steps of one batch each. `visit` sees each row once, as it is when
// its step begins; rows it adds to the batch are written before the next step.
using VisitRow = absl::FunctionRef<absl::Status(const StoreCursor& row, ExtentLedger& ledger,
                                                VolumeRecord& record, RowBatch& batch)>;
absl::Status ForEachRow(const OrderedStore& store, Volume& volume, uint64_t incarnation, Kind kind,
                        VisitRow visit) {
  std::string next;  // first key of the next step
  bool more = true;
  while (more) {
    RETURN_IF_ERROR(volume.Update(incarnation, [&](VolumeRecord& record, RowBatch& batch) {
      const auto rows = store.Walk(KeyPrefix(kind, NumberOf(record)));
      if (!next.empty()) rows->Seek(next);
      ExtentLedger ledger(store, record, batch);
      for (; rows->Valid(); rows->Next()) {
        if (batch.size() >= kRowsPerStep) {
          next = std::string(rows->key());
          return absl::OkStatus();
        }
        RETURN_IF_ERROR(visit(*rows, ledger, record, batch));
      }
      more = false;
      return rows->status();
    }));
  }
  return absl::OkStatus();
}

absl::Status Unqueue(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                     uint64_t up_to_epoch) {
  return ForEachRow(
      store, volume, incarnation, Kind::kWaiting,
      [&](const StoreCursor& row, ExtentLedger& ledger, VolumeRecord&, RowBatch&) -> absl::Status {
        ASSIGN_OR_RETURN(const Waiting waiting, ParseWaiting(row.value()));
        if (waiting.epoch > up_to_epoch) return absl::OkStatus();
        ASSIGN_OR_RETURN(const uint64_t address, ParseAddressKey(Kind::kWaiting, row.key()));
        ledger.Unqueue(address);
        return absl::OkStatus();
      });
}

// Whether the matches of a query are still needed when an inside plan ended: it waits on, or its
// outcome may be reconsidered.
class QueriesToKeep {
 public:
  QueriesToKeep(const OrderedStore& store, VolumeNumber volume)
      : volume_(volume),
        waiting_(store, KeyPrefix(Kind::kWaiting, volume)),
        outcomes_(store, KeyPrefix(Kind::kOutcome, volume)) {}

  // Queries come in ascending order.
  absl::StatusOr<bool> Contains(uint64_t query) {
    if (query == last_query_) return last_;
    last_query_ = query;
    ASSIGN_OR_RETURN(last_, waiting_.Find(AddressKey(Kind::kWaiting, volume_, query)));
    if (last_) return true;
    ASSIGN_OR_RETURN(last_, outcomes_.Find(AddressKey(Kind::kOutcome, volume_, query)));
    return last_;
  }

 private:
  const VolumeNumber volume_;
  SortedReader waiting_;
  SortedReader outcomes_;
  std::optional<uint64_t> last_query_;
  bool last_ = false;
};

absl::Status DropSettledMatches(const OrderedStore& store, Volume& volume, uint64_t incarnation) {
  ASSIGN_OR_RETURN(const VolumeRecord before, volume.Record(incarnation));
  QueriesToKeep keep(store, NumberOf(before));
  const uint64_t done_epoch = before.queue().inside().done_epoch();
  bool any_left = false;
  RETURN_IF_ERROR(ForEachRow(
      store, volume, incarnation, Kind::kMatch,
      [&](const StoreCursor& row, ExtentLedger&, VolumeRecord&, RowBatch& batch) -> absl::Status {
        const absl::string_view query = row.key().substr(0, kKeyPrefixBytes);
        if (query.size() < kKeyPrefixBytes) return absl::DataLossError("match key is cut");
        uint64_t epoch = 0;
        if (row.key().size() > kKeyPrefixBytes) {
          ASSIGN_OR_RETURN(const Match match, ParseMatch(row.value()));
          epoch = match.epoch;
        }
        ASSIGN_OR_RETURN(const bool wanted, keep.Contains(LoadBig64(query.data() + 5)));
        if (wanted || epoch > done_epoch) {
          any_left = true;
        } else {
          batch.Delete(row.key());
        }
        return absl::OkStatus();
      }));
  if (any_left) return absl::OkStatus();
  return volume.Update(incarnation, [](VolumeRecord& record, RowBatch&) {
    record.set_has_matches(false);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RecordResults(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                           std::vector<ExtentResult> results) {
  std::stable_sort(
      results.begin(), results.end(),
      [](const ExtentResult& a, const ExtentResult& b) { return a.address < b.address; });
  return volume.Update(incarnation, [&](VolumeRecord& record, RowBatch& batch) {
    return ApplyResults(store, results, record, batch);
  });
}

absl::Status EndPlan(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                     const PlanEnd& end) {
  uint64_t done_epoch = 0;
  bool any_listed = false;
  bool any_matches = false;
  RETURN_IF_ERROR(volume.Update(incarnation, [&](VolumeRecord& record, RowBatch&) {
    done_epoch = FinishPlan(*record.mutable_queue(), end.whole, end.inside);
    any_listed = record.queue().listed_count() > 0;
    any_matches = record.has_matches();
    record.set_scope_digest(end.scope_digest);
    record.set_subvolume_set_digest(end.subvolume_set_digest);
    if (end.whole || end.inside) record.set_inside_done(end.inside_done);
    return absl::OkStatus();
  }));
  if (any_listed && done_epoch > 0) {
    RETURN_IF_ERROR(Unqueue(store, volume, incarnation, done_epoch));
  }
  return any_matches && end.inside ? DropSettledMatches(store, volume, incarnation)
                                   : absl::OkStatus();
}

absl::Status Reconsider(const OrderedStore& store, Volume& volume, uint64_t incarnation,
                        const Circumstances& now) {
  ASSIGN_OR_RETURN(const VolumeRecord record, volume.Record(incarnation));
  const bool all = now.scope_digest != record.scope_digest();
  const bool pinned = all || now.subvolume_set_digest != record.subvolume_set_digest();
  const auto holds = [&](int holder) {
    return pinned || (now.run_begins && holder == v1::HOLDER_IMMUTABLE);
  };
  const bool any_pinned = std::any_of(record.pinned().begin(), record.pinned().end(),
                                      [&](const storage::v1::PinnedRecord& by) {
                                        return by.extent_count() > 0 && holds(by.holder());
                                      });
  if (any_pinned || (all && record.out_of_scope_count() > 0)) {
    RETURN_IF_ERROR(ForEachRow(
        store, volume, incarnation, Kind::kOutcome,
        [&](const StoreCursor& row, ExtentLedger& ledger, VolumeRecord&,
            RowBatch&) -> absl::Status {
          ASSIGN_OR_RETURN(const OutcomeRow outcome, ParseOutcome(row.value()));
          if (!all && (outcome.outcome != v1::OUTCOME_PINNED || !holds(outcome.holder))) {
            return absl::OkStatus();
          }
          ASSIGN_OR_RETURN(const uint64_t address, ParseAddressKey(Kind::kOutcome, row.key()));
          ledger.Requeue(address, outcome);
          return absl::OkStatus();
        }));
  }
  // Most calls of Sync bring nothing new, and must not wait for an update that is under way.
  if (!pinned) return absl::OkStatus();
  // Last, so that whatever was interrupted before is done again. What is queued is durable; the new
  // circumstances are those its next outcome depends on.
  return volume.Update(incarnation, [&](VolumeRecord& changed, RowBatch&) {
    changed.set_scope_digest(now.scope_digest);
    changed.set_subvolume_set_digest(now.subvolume_set_digest);
    return absl::OkStatus();
  });
}

}  // namespace onefold::index
