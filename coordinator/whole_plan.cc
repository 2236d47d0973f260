#include "coordinator/whole_plan.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

// Looking an extent up costs about as much as walking over this many rows.
constexpr int64_t kRowsPerLookUp = 16;

// Groups that look-ups have met already, so that one with many waiting members is not gathered for
// each of them. Beyond this it only costs time.
constexpr size_t kGroupsMetMax = 65536;

// Members of one digest as they go by, by length: extents of different length are never equal.
class DigestGroups {
 public:
  void Add(uint64_t digest, uint64_t address, uint32_t length) {
    for (Candidate& group : groups_) {
      if (group.length != length) continue;
      if (group.member_count == 1) group.second = address;
      ++group.member_count;
      return;
    }
    groups_.push_back({.lead = address, .digest = digest, .length = length, .member_count = 1});
  }

  // Hands the groups of two and more over and starts anew.
  void OfferTo(PlanSelection& selection) {
    for (Candidate& group : groups_) {
      if (group.member_count < 2) continue;
      group.gain_blocks = int64_t{group.member_count - 1} * group.length;
      selection.Offer(group);
    }
    groups_.clear();
  }

  const std::vector<Candidate>& groups() const { return groups_; }

 private:
  std::vector<Candidate> groups_;
};

class WholePlan final : public PlanSource {
 public:
  WholePlan(const OrderedStore& store, const Volume& volume) : store_(store), volume_(volume) {}

  absl::Status OfferAll(PlanSelection& selection) override {
    const VolumeRecord record = volume_.Record();
    const QueueRecord& queue = record.queue();
    if (!MayWait(queue, PlanKind::kWhole)) return absl::OkStatus();
    const bool walk = FlagWaits(queue, PlanKind::kWhole) ||
                      queue.listed_count() * kRowsPerLookUp > record.extent_count();
    return walk ? WalkAll(record, selection) : LookUpWaiting(record, selection);
  }

  absl::StatusOr<std::vector<PlanGroup>> LookUp(absl::Span<const Candidate> candidates) override;
  absl::StatusOr<Page> LookUpPage(const Candidate& candidate, uint64_t after_member) override;
  absl::StatusOr<std::optional<Candidate>> Find(const PlanOrder& order) override;

 private:
  absl::Status WalkAll(const VolumeRecord& record, PlanSelection& selection);
  absl::Status LookUpWaiting(const VolumeRecord& record, PlanSelection& selection);
  absl::StatusOr<DigestGroups> GroupsOf(const VolumeRecord& record, uint64_t digest,
                                        StoreCursor& rows);
  // Addresses of up to `count_max` members above `after`, ascending.
  absl::StatusOr<std::vector<uint64_t>> Members(const VolumeRecord& record,
                                                const Candidate& candidate, uint64_t after,
                                                size_t count_max);
  absl::StatusOr<std::optional<IndexedExtent>> Lead(const VolumeRecord& record,
                                                    const Candidate& candidate);
  absl::StatusOr<std::optional<uint64_t>> ChooseLead(const VolumeRecord& record,
                                                     const Candidate& candidate);

  const OrderedStore& store_;
  const Volume& volume_;
  // The member that leads all pages of the group that is being paged.
  uint64_t lead_digest_ = 0;
  std::optional<uint64_t> lead_;
};

absl::Status WholePlan::WalkAll(const VolumeRecord& record, PlanSelection& selection) {
  const auto rows = store_.Walk(KeyPrefix(Kind::kFingerprint, NumberOf(record)));
  DigestGroups groups;
  uint64_t digest = 0;
  for (; rows->Valid(); rows->Next()) {
    ASSIGN_OR_RETURN(const FingerprintKey key, ParseFingerprintKey(rows->key()));
    if (key.digest != digest) {
      groups.OfferTo(selection);
      digest = key.digest;
    }
    ASSIGN_OR_RETURN(const Fingerprint value, ParseFingerprint(rows->value()));
    if (value.whole) groups.Add(key.digest, key.address, value.length);
  }
  groups.OfferTo(selection);
  return rows->status();
}

absl::Status WholePlan::LookUpWaiting(const VolumeRecord& record, PlanSelection& selection) {
  const auto waiting = store_.Walk(KeyPrefix(Kind::kWaiting, NumberOf(record)));
  const auto fingerprints = store_.LookUp();
  ExtentReader extents(store_, NumberOf(record), /*with_waiting=*/false);
  absl::flat_hash_set<uint64_t> met;
  for (; waiting->Valid(); waiting->Next()) {
    ASSIGN_OR_RETURN(const uint64_t address, ParseAddressKey(Kind::kWaiting, waiting->key()));
    ASSIGN_OR_RETURN(std::optional<IndexedExtent> extent, extents.Find(address));
    if (!extent) continue;
    ASSIGN_OR_RETURN(extent->waiting, ParseWaiting(waiting->value()));
    const uint64_t digest = extent->extent.digest;
    if (!WaitsForWhole(record.queue(), *extent) || met.contains(digest)) continue;
    ASSIGN_OR_RETURN(DigestGroups groups, GroupsOf(record, digest, *fingerprints));
    groups.OfferTo(selection);
    if (met.size() < kGroupsMetMax) met.insert(digest);
  }
  return waiting->status();
}

absl::StatusOr<DigestGroups> WholePlan::GroupsOf(const VolumeRecord& record, uint64_t digest,
                                                 StoreCursor& rows) {
  DigestGroups groups;
  for (rows.Seek(KeyPrefix(Kind::kFingerprint, NumberOf(record), digest)); rows.Valid();
       rows.Next()) {
    ASSIGN_OR_RETURN(const FingerprintKey key, ParseFingerprintKey(rows.key()));
    ASSIGN_OR_RETURN(const Fingerprint value, ParseFingerprint(rows.value()));
    if (value.whole) groups.Add(key.digest, key.address, value.length);
  }
  RETURN_IF_ERROR(rows.status());
  return groups;
}

absl::StatusOr<std::vector<uint64_t>> WholePlan::Members(const VolumeRecord& record,
                                                         const Candidate& candidate, uint64_t after,
                                                         size_t count_max) {
  std::vector<uint64_t> addresses;
  const auto rows = store_.LookUp();
  const FingerprintKey first{.digest = candidate.digest, .address = after == 0 ? 0 : after + 1};
  for (rows->Seek(EncodeKey(NumberOf(record), first));
       rows->Valid() && addresses.size() < count_max; rows->Next()) {
    ASSIGN_OR_RETURN(const FingerprintKey key, ParseFingerprintKey(rows->key()));
    ASSIGN_OR_RETURN(const Fingerprint value, ParseFingerprint(rows->value()));
    if (value.whole && value.length == candidate.length) addresses.push_back(key.address);
  }
  RETURN_IF_ERROR(rows->status());
  return addresses;
}

// A member as it stands now; nullopt if it holds something else by now.
std::optional<PlanMember> MemberOf(const QueueRecord& queue, const Candidate& candidate,
                                   const IndexedExtent& indexed) {
  const Extent& extent = indexed.extent;
  if (extent.digest != candidate.digest || extent.length != candidate.length) return std::nullopt;
  return PlanMember{.address = extent.address,
                    .length = extent.length,
                    .generation = extent.generation,
                    .kept_before = extent.kept,
                    .queued = IsQueued(queue, indexed)};
}

absl::StatusOr<std::vector<PlanGroup>> WholePlan::LookUp(absl::Span<const Candidate> candidates) {
  const VolumeRecord record = volume_.Record();
  std::vector<std::vector<uint64_t>> members(candidates.size());
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < candidates.size(); ++i) {
    members[i] = {candidates[i].lead, candidates[i].second};
    if (candidates[i].member_count > 2) {
      ASSIGN_OR_RETURN(members[i], Members(record, candidates[i], 0, kMembersPerGroupMax));
    }
    addresses.insert(addresses.end(), members[i].begin(), members[i].end());
  }
  ASSIGN_OR_RETURN(const ExtentMap extents, ReadExtents(store_, record, std::move(addresses)));

  std::vector<PlanGroup> groups;
  const PlanSelection order(0, record.block_bytes(), std::nullopt);
  for (size_t i = 0; i < candidates.size(); ++i) {
    PlanGroup group{.position = {.order = order.OrderOf(candidates[i])},
                    .digest = candidates[i].digest};
    bool waits = false;
    for (const uint64_t address : members[i]) {
      const auto extent = extents.find(address);
      if (extent == extents.end()) continue;
      const auto member = MemberOf(record.queue(), candidates[i], extent->second);
      if (!member) continue;
      waits |= WaitsForWhole(record.queue(), extent->second);
      group.members.push_back(*member);
    }
    if (waits && group.members.size() >= 2) groups.push_back(std::move(group));
  }
  return groups;
}

// A member that was kept before, else the lowest one.
absl::StatusOr<std::optional<uint64_t>> WholePlan::ChooseLead(const VolumeRecord& record,
                                                              const Candidate& candidate) {
  ExtentReader extents(store_, NumberOf(record), /*with_waiting=*/false);
  std::optional<uint64_t> lowest;
  uint64_t after = 0;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> addresses,
                     Members(record, candidate, after, kMembersPerMessageMax));
    if (addresses.empty()) return lowest;
    for (const uint64_t address : addresses) {
      ASSIGN_OR_RETURN(const std::optional<IndexedExtent> extent, extents.Find(address));
      if (!extent || !MemberOf(record.queue(), candidate, *extent)) continue;
      if (extent->extent.kept) return address;
      if (!lowest) lowest = address;
    }
    after = addresses.back();
  }
}

// The lead chosen for this group as long as it is there, so that all pages have the same one.
absl::StatusOr<std::optional<IndexedExtent>> WholePlan::Lead(const VolumeRecord& record,
                                                             const Candidate& candidate) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (lead_digest_ != candidate.digest || !lead_ || attempt > 0) {
      ASSIGN_OR_RETURN(lead_, ChooseLead(record, candidate));
      lead_digest_ = candidate.digest;
    }
    if (!lead_) return std::nullopt;
    ExtentReader reader(store_, NumberOf(record), record.queue().listed_count() > 0);
    ASSIGN_OR_RETURN(std::optional<IndexedExtent> extent, reader.Find(*lead_));
    if (extent && MemberOf(record.queue(), candidate, *extent)) return extent;
  }
  return std::nullopt;
}

absl::StatusOr<PlanSource::Page> WholePlan::LookUpPage(const Candidate& candidate,
                                                       uint64_t after_member) {
  const VolumeRecord record = volume_.Record();
  ASSIGN_OR_RETURN(const std::optional<IndexedExtent> lead, Lead(record, candidate));
  if (!lead) return Page();
  ASSIGN_OR_RETURN(const std::vector<uint64_t> addresses,
                   Members(record, candidate, after_member, kMembersPerGroupMax - 1));
  if (addresses.empty()) return Page();
  ASSIGN_OR_RETURN(const ExtentMap extents, ReadExtents(store_, record, addresses));

  Page page;
  PlanGroup group{.members = {*MemberOf(record.queue(), candidate, *lead)},
                  .paged = true,
                  .digest = candidate.digest};
  bool waits = after_member == 0 && WaitsForWhole(record.queue(), *lead);
  for (const uint64_t address : addresses) {
    const auto extent = extents.find(address);
    if (extent == extents.end() || address == lead->extent.address) continue;
    const auto member = MemberOf(record.queue(), candidate, extent->second);
    if (!member) continue;
    waits |= WaitsForWhole(record.queue(), extent->second);
    group.members.push_back(*member);
  }
  if (addresses.size() == kMembersPerGroupMax - 1) page.last_member = addresses.back();
  if (waits && group.members.size() >= 2) page.group = std::move(group);
  return page;
}

absl::StatusOr<std::optional<Candidate>> WholePlan::Find(const PlanOrder& order) {
  const VolumeRecord record = volume_.Record();
  const auto rows = store_.LookUp();
  ASSIGN_OR_RETURN(const DigestGroups groups, GroupsOf(record, order.digest, *rows));
  // By now members may be gone, the lead among them: the largest group of the digest is the one.
  std::optional<Candidate> found;
  for (const Candidate& group : groups.groups()) {
    if (!found || group.member_count > found->member_count) found = group;
  }
  return found;
}

}  // namespace

std::unique_ptr<PlanSource> NewWholePlan(const OrderedStore& store, const Volume& volume) {
  return std::make_unique<WholePlan>(store, volume);
}

}  // namespace onefold::index
