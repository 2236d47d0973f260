#include "coordinator/head_matcher.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "coordinator/sorted_reader.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

// Rows of one batch: bounds its memory, and how long others wait.
constexpr size_t kRowsPerStep = 32768;
// Places of a head that are looked at: some are the query itself, or equal to it.
constexpr size_t kPlacesConsidered = 4 * kPlacesPerHeadMax;
// Heads of one digest that are held; if there are more, they are read twice.
constexpr size_t kHeadsAtOnce = 1024;
// Looking a digest up costs about as much as walking over this many rows.
constexpr int64_t kRowsPerLookUp = 16;
// Digests held at a time when equal heads are looked for.
constexpr size_t kDigestsPerPortion = 65536;

}  // namespace

// Cursors and record of one Volume::Update.
struct HeadMatcher::Step {
  // `dense`: there are many heads to find, close to each other.
  Step(const OrderedStore& store, VolumeRecord& record, RowBatch& batch, bool dense)
      : record(record),
        batch(batch),
        heads(dense ? SortedReader(store, KeyPrefix(Kind::kFingerprint, volume()))
                    : SortedReader(store)),
        matches(store.LookUp()) {}

  VolumeNumber volume() const { return NumberOf(record); }
  bool full() const { return batch.size() >= kRowsPerStep; }

  VolumeRecord& record;
  RowBatch& batch;
  SortedReader heads;
  const std::unique_ptr<StoreCursor> matches;
};

absl::Status HeadMatcher::MatchHits(std::vector<Hit> hits) {
  ASSIGN_OR_RETURN(std::vector<Place> places, PlacesOf(std::move(hits)));
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.digest, a.address, a.offset) < std::tie(b.digest, b.address, b.offset);
  });
  return MatchDigests(places);
}

absl::Status HeadMatcher::MatchEqualHeads(bool all) {
  const VolumeRecord record = volume_.Record();
  const bool walk = all || record.queue().everything() ||
                    record.queue().listed_count() * kRowsPerLookUp > record.head_count();
  std::string next;  // first key of the next portion
  do {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> digests,
                     walk ? SharedHeads(next) : WaitingHeads(next));
    // No hits: the heads themselves are the places.
    std::vector<Place> places;
    places.reserve(digests.size());
    for (const uint64_t digest : digests) places.push_back({.digest = digest});
    RETURN_IF_ERROR(MatchDigests(places));
  } while (!next.empty());
  return absl::OkStatus();
}

// An extent as the place of its own head.
HeadMatcher::Place HeadMatcher::PlaceOfHead(const FingerprintKey& key, const Fingerprint& head) {
  return {.digest = key.digest,
          .address = key.address,
          .whole_digest = head.whole ? key.digest : head.whole_digest,
          .offset = head.head_offset,
          .length = head.length};
}

// Adds to each hit what the index knows of its extent.
absl::StatusOr<std::vector<HeadMatcher::Place>> HeadMatcher::PlacesOf(std::vector<Hit> hits) {
  std::sort(hits.begin(), hits.end(),
            [](const Hit& a, const Hit& b) { return a.address < b.address; });
  ASSIGN_OR_RETURN(const VolumeRecord record, volume_.Record(incarnation_));
  ExtentReader extents(store_, NumberOf(record), /*with_waiting=*/false);
  std::vector<Place> places;
  places.reserve(hits.size());
  std::optional<IndexedExtent> extent;
  for (const Hit& hit : hits) {
    if (!extent || extent->extent.address != hit.address) {
      ASSIGN_OR_RETURN(extent, extents.Find(hit.address));
    }
    if (!extent || !extent->extent.complete() || hit.offset >= extent->extent.length) continue;
    places.push_back({.digest = hit.digest,
                      .address = hit.address,
                      .whole_digest = extent->extent.digest,
                      .offset = hit.offset,
                      .length = extent->extent.length});
  }
  return places;
}

// Digests that are the head of extents that differ as a whole.
absl::StatusOr<std::vector<uint64_t>> HeadMatcher::SharedHeads(std::string& next) {
  const auto rows = store_.Walk(KeyPrefix(Kind::kFingerprint, NumberOf(volume_.Record())));
  if (!next.empty()) rows->Seek(std::exchange(next, ""));
  std::vector<uint64_t> digests;
  FingerprintKey last;
  uint64_t last_whole = 0;
  for (; rows->Valid(); rows->Next()) {
    ASSIGN_OR_RETURN(const FingerprintKey key, ParseFingerprintKey(rows->key()));
    if (key.digest != last.digest && digests.size() >= kDigestsPerPortion) {
      next = std::string(rows->key());
      break;
    }
    ASSIGN_OR_RETURN(const Fingerprint head, ParseFingerprint(rows->value()));
    if (!head.head) continue;
    const uint64_t whole = head.whole ? key.digest : head.whole_digest;
    const bool differs = key.digest == last.digest && last.address != 0 && whole != last_whole;
    if (differs && (digests.empty() || digests.back() != key.digest)) digests.push_back(key.digest);
    last = key;
    last_whole = whole;
  }
  RETURN_IF_ERROR(rows->status());
  return digests;
}

// Heads of waiting extents.
absl::StatusOr<std::vector<uint64_t>> HeadMatcher::WaitingHeads(std::string& next) {
  const VolumeNumber volume = NumberOf(volume_.Record());
  const auto rows = store_.Walk(KeyPrefix(Kind::kWaiting, volume));
  if (!next.empty()) rows->Seek(std::exchange(next, ""));
  ExtentReader extents(store_, volume, /*with_waiting=*/false);
  std::vector<uint64_t> digests;
  for (; rows->Valid(); rows->Next()) {
    if (digests.size() >= kDigestsPerPortion) {
      next = std::string(rows->key());
      break;
    }
    ASSIGN_OR_RETURN(const uint64_t address, ParseAddressKey(Kind::kWaiting, rows->key()));
    ASSIGN_OR_RETURN(const std::optional<IndexedExtent> extent, extents.Find(address));
    if (extent && extent->extent.has_head) digests.push_back(extent->extent.head);
  }
  RETURN_IF_ERROR(rows->status());
  std::sort(digests.begin(), digests.end());
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  return digests;
}

// `places` are sorted by digest. Goes on from batch to batch, within one digest too.
absl::Status HeadMatcher::MatchDigests(absl::Span<const Place> places) {
  const bool dense =
      static_cast<int64_t>(places.size()) * kRowsPerLookUp > volume_.Record().head_count();
  size_t begin = 0;
  uint64_t next_query = 0;
  while (begin < places.size()) {
    RETURN_IF_ERROR(volume_.Update(incarnation_, [&](VolumeRecord& record, RowBatch& batch) {
      Step step(store_, record, batch, dense);
      while (begin < places.size() && !step.full()) {
        size_t end = begin;
        while (end < places.size() && places[end].digest == places[begin].digest) ++end;
        RETURN_IF_ERROR(MatchDigest(step, places.subspan(begin, end - begin), next_query));
        if (next_query == 0) begin = end;
      }
      if (!batch.empty()) record.set_has_matches(true);
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

// The heads of one digest, and the largest places for them.
struct HeadMatcher::DigestPlaces {
  std::vector<Place> heads;
  bool all_heads = true;  // false: there are more, read them again
  std::vector<Place> largest;
};

// Matches all queries of one digest from `next_query` on. Sets `next_query` to where to go on when
// the step is full, else to 0.
absl::Status HeadMatcher::MatchDigest(Step& step, absl::Span<const Place> hits,
                                      uint64_t& next_query) {
  ASSIGN_OR_RETURN(const DigestPlaces found, FindPlaces(step, hits));
  const uint64_t first_query = std::exchange(next_query, 0);
  absl::Status status;
  const auto match = [&](const Place& head) {
    if (head.address < first_query) return true;
    if (step.full()) {
      next_query = head.address;
      return false;
    }
    status = MatchQuery(step, head, found.largest);
    return status.ok();
  };
  if (found.all_heads) {
    for (const Place& head : found.heads) {
      if (!match(head)) break;
    }
    return status;
  }
  RETURN_IF_ERROR(ForEachHead(step, hits.front().digest, match));
  return status;
}

// Visits the heads of one digest until `visit` returns false.
absl::Status HeadMatcher::ForEachHead(Step& step, uint64_t digest,
                                      absl::FunctionRef<bool(const Place&)> visit) {
  const std::string prefix = KeyPrefix(Kind::kFingerprint, step.volume(), digest);
  RETURN_IF_ERROR(step.heads.Find(prefix).status());
  const StoreCursor& row = step.heads.row();
  for (; row.Valid() && absl::StartsWith(row.key(), prefix); step.heads.Next()) {
    ASSIGN_OR_RETURN(const FingerprintKey key, ParseFingerprintKey(row.key()));
    ASSIGN_OR_RETURN(const Fingerprint value, ParseFingerprint(row.value()));
    if (value.head && !visit(PlaceOfHead(key, value))) return absl::OkStatus();
  }
  return row.status();
}

// Places are hits, and the extents whose head it is. None if it is nobody's head.
absl::StatusOr<HeadMatcher::DigestPlaces> HeadMatcher::FindPlaces(Step& step,
                                                                  absl::Span<const Place> hits) {
  const auto larger = [](const Place& a, const Place& b) {
    return std::tie(b.length, a.address, a.offset) < std::tie(a.length, b.address, b.offset);
  };
  DigestPlaces found;
  RETURN_IF_ERROR(ForEachHead(step, hits.front().digest, [&](const Place& head) {
    found.all_heads &= found.heads.size() < kHeadsAtOnce;
    if (found.all_heads) found.heads.push_back(head);
    found.largest.push_back(head);
    if (found.largest.size() > 4 * kPlacesConsidered) {
      std::nth_element(found.largest.begin(), found.largest.begin() + kPlacesConsidered,
                       found.largest.end(), larger);
      found.largest.resize(kPlacesConsidered);
    }
    return true;
  }));
  if (found.heads.empty()) return found;
  std::copy_if(hits.begin(), hits.end(), std::back_inserter(found.largest),
               [](const Place& hit) { return hit.length > 0; });
  std::sort(found.largest.begin(), found.largest.end(), larger);
  const auto same = [](const Place& a, const Place& b) {
    return a.address == b.address && a.offset == b.offset;
  };
  found.largest.erase(std::unique(found.largest.begin(), found.largest.end(), same),
                      found.largest.end());
  return found;
}

absl::Status HeadMatcher::MatchQuery(Step& step, const Place& query,
                                     absl::Span<const Place> places) {
  std::vector<Found> found;
  for (const Place& place : places) {
    if (place.address == query.address) continue;
    if (place.length == query.length && place.whole_digest == query.whole_digest) continue;
    found.push_back({.key = {.query = query.address,
                             .place = place.address,
                             .delta = static_cast<int32_t>(place.offset - query.offset)},
                     .length = place.length,
                     .is_new = true});
    if (found.size() >= kPlacesConsidered) break;
  }
  if (found.empty()) return absl::OkStatus();
  uint64_t dropped_count = 0;
  RETURN_IF_ERROR(AddKnown(step, query.address, found, dropped_count));
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.length > b.length; });
  KeepLargest(step, query.address, found, dropped_count);
  return absl::OkStatus();
}

// Adds the matches that the index has of a query already.
absl::Status HeadMatcher::AddKnown(Step& step, uint64_t query, std::vector<Found>& found,
                                   uint64_t& dropped_count) {
  if (!step.record.has_matches()) return absl::OkStatus();
  const size_t new_count = found.size();
  for (step.matches->Seek(KeyPrefix(Kind::kMatch, step.volume(), query)); step.matches->Valid();
       step.matches->Next()) {
    if (step.matches->key().size() == kKeyPrefixBytes) {
      ASSIGN_OR_RETURN(dropped_count, ParseCount(step.matches->value()));
      continue;
    }
    ASSIGN_OR_RETURN(const MatchKey key, ParseMatchKey(step.matches->key()));
    ASSIGN_OR_RETURN(const Match match, ParseMatch(step.matches->value()));
    const auto end = found.begin() + static_cast<ptrdiff_t>(new_count);
    const bool found_again =
        std::any_of(found.begin(), end, [&](const Found& other) { return other.key == key; });
    if (!found_again) found.push_back({.key = key, .length = match.place_length});
  }
  return step.matches->status();
}

void HeadMatcher::KeepLargest(Step& step, uint64_t query, absl::Span<const Found> found,
                              uint64_t dropped_count) {
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string key = EncodeKey(step.volume(), found[i].key);
    if (i >= kPlacesPerHeadMax) {
      if (!found[i].is_new) step.batch.Delete(key);
    } else if (found[i].is_new) {
      const Match match{.epoch = step.record.queue().epoch(), .place_length = found[i].length};
      step.batch.Put(key, EncodeRow(match));
      ++counts_.match_count;
    }
  }
  if (found.size() <= kPlacesPerHeadMax) return;
  const size_t overflow = found.size() - kPlacesPerHeadMax;
  step.batch.Put(KeyPrefix(Kind::kMatch, step.volume(), query),
                 EncodeCount(dropped_count + overflow));
  counts_.dropped_count += static_cast<int64_t>(overflow);
}

}  // namespace onefold::index
