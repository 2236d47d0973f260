#include "coordinator/testing/index_invariants.h"

#include <optional>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/extent_ledger.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

using Rows = std::map<std::string, std::string>;

class Checker {
 public:
  Checker(const OrderedStore& store, const VolumeRecord& record) : store_(store), record_(record) {}

  std::vector<std::string> Check() {
    for (const auto& [key, value] : Of(Kind::kExtent)) {
      const auto address = ParseAddressKey(Kind::kExtent, key);
      CHECK(address.ok());
      const auto extent = ParseExtent(*address, value);
      CHECK(extent.ok());
      CheckExtent(*extent);
    }
    Compare("fingerprints", expected_fingerprints_, Of(Kind::kFingerprint));
    Compare("anchors", expected_anchors_, Of(Kind::kAnchor));
    Compare("incomplete", expected_incomplete_, Of(Kind::kIncomplete));
    CheckSubset("waiting", complete_, Of(Kind::kWaiting), Kind::kWaiting);
    CheckSubset("outcomes", held_, Of(Kind::kOutcome), Kind::kOutcome);
    CheckMatches();
    CheckOutcomes();
    CheckCounters();
    return violations_;
  }

 private:
  Rows Of(Kind kind) { return RowsWith(store_, KeyPrefix(kind, NumberOf(record_))); }

  void CheckExtent(const Extent& extent) {
    for (const FingerprintRow& row : FingerprintRows(extent)) {
      expected_fingerprints_[EncodeKey(NumberOf(record_), row.key)] = EncodeRow(row.value);
    }
    for (const Anchor& anchor : extent.anchors) {
      expected_anchors_[EncodeKey(NumberOf(record_), AnchorKey{.digest = anchor.digest,
                                                               .address = extent.address,
                                                               .offset = anchor.offset})] = "";
    }
    if (extent.complete()) {
      complete_.insert(extent.address);
    } else {
      expected_incomplete_[AddressKey(Kind::kIncomplete, NumberOf(record_), extent.address)] = "";
    }
    if (extent.held) held_.insert(extent.address);
    extents_.insert(extent.address);

    IndexedExtent indexed{.extent = extent, .waiting = std::nullopt};
    const auto waiting = store_.Get(AddressKey(Kind::kWaiting, NumberOf(record_), extent.address));
    CHECK(waiting.ok());
    if (waiting->has_value()) {
      const auto row = ParseWaiting(**waiting);
      CHECK(row.ok());
      indexed.waiting = *row;
      ++listed_;
    }
    const bool queued = IsQueued(record_.queue(), indexed);
    if (queued) ++queued_;
    const auto outcome = store_.Get(AddressKey(Kind::kOutcome, NumberOf(record_), extent.address));
    CHECK(outcome.ok());
    if (queued && outcome->has_value()) {
      violations_.push_back(absl::StrCat("extent ", extent.address, " waits and has an outcome"));
    }
    blocks_ += extent.length;
    heads_ += extent.has_head ? 1 : 0;
    none_ += extent.checksum_state == ChecksumState::kNone ? 1 : 0;
    partial_ += extent.checksum_state == ChecksumState::kPartial ? 1 : 0;
  }

  void CheckMatches() {
    const Rows matches = Of(Kind::kMatch);
    if (!matches.empty() && !record_.has_matches()) violations_.push_back("unannounced matches");
    for (const auto& [key, value] : matches) {
      if (key.size() == kKeyPrefixBytes) continue;
      const auto match = ParseMatchKey(key);
      CHECK(match.ok());
      if (!extents_.contains(match->query)) {
        violations_.push_back(absl::StrCat("match of an absent extent ", match->query));
      }
    }
  }

  void CheckOutcomes() {
    int64_t out_of_scope = 0;
    std::map<int, std::pair<int64_t, int64_t>> pinned;
    for (const auto& [key, value] : Of(Kind::kOutcome)) {
      const auto row = ParseOutcome(value);
      CHECK(row.ok());
      if (row->outcome == v1::OUTCOME_PINNED) {
        ++pinned[row->holder].first;
        pinned[row->holder].second += row->length;
      } else {
        ++out_of_scope;
      }
    }
    Compare("out of scope", out_of_scope, record_.out_of_scope_count());
    for (const storage::v1::PinnedRecord& by : record_.pinned()) {
      Compare("pinned extents", pinned[by.holder()].first, by.extent_count());
      Compare("pinned blocks", pinned[by.holder()].second, by.block_count());
      pinned.erase(by.holder());
    }
    for (const auto& [holder, counts] : pinned) Compare("pinned, not counted", counts.first, 0);
  }

  void CheckCounters() {
    Compare("extents", static_cast<int64_t>(extents_.size()), record_.extent_count());
    Compare("blocks", blocks_, record_.extent_blocks());
    Compare("heads", heads_, record_.head_count());
    Compare("without checksums", none_, record_.without_checksums_count());
    Compare("partly with checksums", partial_, record_.partial_checksums_count());
    Compare("queued", queued_, record_.queue().queued_count());
    Compare("listed", listed_, record_.queue().listed_count());
    if (record_.new_head_count() > record_.head_count() || record_.new_head_count() < 0) {
      violations_.push_back("new heads out of range");
    }
  }

  void CheckSubset(const char* what, const std::set<uint64_t>& addresses, const Rows& rows,
                   Kind kind) {
    for (const auto& [key, value] : rows) {
      const auto address = ParseAddressKey(kind, key);
      CHECK(address.ok());
      if (!addresses.contains(*address)) {
        violations_.push_back(absl::StrCat(what, ": row of extent ", *address));
      }
    }
  }

  void Compare(const char* what, const Rows& expected, const Rows& rows) {
    for (const auto& [key, value] : expected) {
      const auto row = rows.find(key);
      if (row == rows.end() || row->second != value) {
        violations_.push_back(
            absl::StrCat(what, ": missing or wrong: ", absl::BytesToHexString(key)));
      }
    }
    for (const auto& [key, value] : rows) {
      if (!expected.contains(key)) {
        violations_.push_back(absl::StrCat(what, ": left over: ", absl::BytesToHexString(key)));
      }
    }
  }

  void Compare(const char* what, int64_t expected, int64_t counted) {
    if (expected == counted) return;
    violations_.push_back(absl::StrCat(what, ": ", expected, " rows, counted ", counted));
  }

  const OrderedStore& store_;
  const VolumeRecord& record_;
  std::vector<std::string> violations_;
  Rows expected_fingerprints_, expected_anchors_, expected_incomplete_;
  std::set<uint64_t> extents_, complete_, held_;
  int64_t blocks_ = 0, heads_ = 0, none_ = 0, partial_ = 0, queued_ = 0, listed_ = 0;
};

}  // namespace

Rows RowsWith(const OrderedStore& store, absl::string_view prefix) {
  Rows rows;
  const auto cursor = store.Walk(prefix);
  for (; cursor->Valid(); cursor->Next()) {
    rows[std::string(cursor->key())] = std::string(cursor->value());
  }
  CHECK(cursor->status().ok());
  return rows;
}

std::vector<std::string> Violations(const OrderedStore& store, const VolumeRecord& record) {
  return Checker(store, record).Check();
}

}  // namespace onefold::index
