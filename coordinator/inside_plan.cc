#include "coordinator/inside_plan.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

struct Place {
  MatchKey key;
  uint64_t epoch = 0;
};

// What rows M say about one query.
struct Query {
  std::vector<Place> places;
  int64_t dropped_count = 0;
};

PlanMember MemberOf(const QueueRecord& queue, const IndexedExtent& indexed, int32_t delta) {
  return {.address = indexed.extent.address,
          .length = indexed.extent.length,
          .generation = indexed.extent.generation,
          .kept_before = indexed.extent.kept,
          .queued = IsQueued(queue, indexed),
          .delta = delta};
}

class InsidePlan final : public PlanSource {
 public:
  InsidePlan(const OrderedStore& store, const Volume& volume) : store_(store), volume_(volume) {}

  absl::Status OfferAll(PlanSelection& selection) override;
  absl::StatusOr<std::vector<PlanGroup>> LookUp(absl::Span<const Candidate> candidates) override;

  // Queries have at most kPlacesPerHeadMax places: there are no large groups.
  absl::StatusOr<Page> LookUpPage(const Candidate&, uint64_t) override { return Page(); }
  absl::StatusOr<std::optional<Candidate>> Find(const PlanOrder&) override { return std::nullopt; }

 private:
  absl::StatusOr<Query> ReadQuery(const VolumeRecord& record, uint64_t address, StoreCursor& rows);

  const OrderedStore& store_;
  const Volume& volume_;
};

absl::Status InsidePlan::OfferAll(PlanSelection& selection) {
  const VolumeRecord record = volume_.Record();
  if (!record.has_matches()) return absl::OkStatus();
  const auto rows = store_.Walk(KeyPrefix(Kind::kMatch, NumberOf(record)));
  ExtentReader extents(store_, NumberOf(record), /*with_waiting=*/false);

  Candidate candidate;  // of the query whose rows go by
  const auto offer = [&]() -> absl::Status {
    if (candidate.member_count == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::optional<IndexedExtent> query, extents.Find(candidate.lead));
    if (!query) return absl::OkStatus();
    candidate.length = query->extent.length;
    candidate.gain_blocks = candidate.length;
    ++candidate.member_count;  // the query itself
    selection.Offer(candidate);
    return absl::OkStatus();
  };
  for (; rows->Valid(); rows->Next()) {
    if (rows->key().size() == kKeyPrefixBytes) continue;
    ASSIGN_OR_RETURN(const MatchKey key, ParseMatchKey(rows->key()));
    if (key.query != candidate.lead) {
      RETURN_IF_ERROR(offer());
      candidate = {.lead = key.query};
    }
    ++candidate.member_count;
  }
  RETURN_IF_ERROR(offer());
  return rows->status();
}

absl::StatusOr<Query> InsidePlan::ReadQuery(const VolumeRecord& record, uint64_t address,
                                            StoreCursor& rows) {
  Query query;
  for (rows.Seek(KeyPrefix(Kind::kMatch, NumberOf(record), address)); rows.Valid(); rows.Next()) {
    if (rows.key().size() == kKeyPrefixBytes) {
      ASSIGN_OR_RETURN(const uint64_t count, ParseCount(rows.value()));
      query.dropped_count = static_cast<int64_t>(count);
      continue;
    }
    ASSIGN_OR_RETURN(const MatchKey key, ParseMatchKey(rows.key()));
    ASSIGN_OR_RETURN(const Match match, ParseMatch(rows.value()));
    query.places.push_back({.key = key, .epoch = match.epoch});
  }
  RETURN_IF_ERROR(rows.status());
  return query;
}

// The group of a query as things stand now; nullopt if nothing of it waits, or all of it is gone.
std::optional<PlanGroup> GroupOf(const QueueRecord& queue, const Candidate& candidate,
                                 const Query& query, const ExtentMap& extents) {
  const auto self = extents.find(candidate.lead);
  if (self == extents.end()) return std::nullopt;
  PlanGroup group{.members = {MemberOf(queue, self->second, 0)},
                  .dropped_count = query.dropped_count};
  bool waits = group.members.front().queued;
  for (const Place& place : query.places) {
    const auto extent = extents.find(place.key.place);
    if (extent == extents.end()) continue;
    group.members.push_back(MemberOf(queue, extent->second, place.key.delta));
    waits |= group.members.back().queued || place.epoch > queue.inside().done_epoch();
  }
  if (!waits || group.members.size() < 2) return std::nullopt;
  std::stable_sort(group.members.begin() + 1, group.members.end(),
                   [](const PlanMember& a, const PlanMember& b) { return a.length > b.length; });
  return group;
}

absl::StatusOr<std::vector<PlanGroup>> InsidePlan::LookUp(absl::Span<const Candidate> candidates) {
  const VolumeRecord record = volume_.Record();
  const auto rows = store_.LookUp();
  std::vector<Query> queries;
  std::vector<uint64_t> addresses;
  for (const Candidate& candidate : candidates) {
    ASSIGN_OR_RETURN(Query query, ReadQuery(record, candidate.lead, *rows));
    addresses.push_back(candidate.lead);
    for (const Place& place : query.places) addresses.push_back(place.key.place);
    queries.push_back(std::move(query));
  }
  ASSIGN_OR_RETURN(const ExtentMap extents, ReadExtents(store_, record, std::move(addresses)));

  std::vector<PlanGroup> groups;
  const PlanSelection order(0, record.block_bytes(), std::nullopt);
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::optional<PlanGroup> group = GroupOf(record.queue(), candidates[i], queries[i], extents);
    if (!group) continue;
    group->position = {.order = order.OrderOf(candidates[i])};
    groups.push_back(*std::move(group));
  }
  return groups;
}

}  // namespace

std::unique_ptr<PlanSource> NewInsidePlan(const OrderedStore& store, const Volume& volume) {
  return std::make_unique<InsidePlan>(store, volume);
}

}  // namespace onefold::index
