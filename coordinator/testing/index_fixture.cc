#include "coordinator/testing/index_fixture.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "coordinator/hit_upload.h"
#include "coordinator/testing/index_invariants.h"
#include "coordinator/testing/memory_store.h"

namespace onefold::index {

Extent File(uint64_t address, uint32_t length, uint64_t content, uint64_t head,
            uint64_t generation) {
  Extent extent;
  extent.address = address;
  extent.length = length;
  extent.generation = generation;
  extent.digest = content;
  extent.has_head = true;
  extent.head = head != 0 ? head : length <= 4 ? content : content ^ 0x4ead;
  return extent;
}

Extent WithoutChecksums(uint64_t address, uint32_t length, ChecksumState state,
                        uint64_t generation) {
  Extent extent;
  extent.address = address;
  extent.length = length;
  extent.generation = generation;
  extent.checksum_state = state;
  return extent;
}

Extent WithAnchors(Extent extent, std::vector<Anchor> anchors) {
  extent.anchors = std::move(anchors);
  return extent;
}

IndexFixture::IndexFixture() : IndexFixture(std::make_unique<MemoryStore>()) {}

IndexFixture::IndexFixture(std::unique_ptr<OrderedStore> store) { Reopen(std::move(store)); }

void IndexFixture::Reopen(std::unique_ptr<OrderedStore> store) {
  writer_.reset();
  book_.reset();
  if (store != nullptr) store_ = std::move(store);
  auto book = VolumeBook::Open(*store_);
  CHECK(book.ok());
  book_ = *std::move(book);
  const auto volume = book_->FindOrMake(kTestVolume, kTestShape, 1000);
  CHECK(volume.ok());
  volume_ = *volume;
  writer_ = std::make_unique<ScanWriter>(*store_);
}

void IndexFixture::TearDown() { EXPECT_THAT(Violations(*store_, Record()), ::testing::IsEmpty()); }

int64_t IndexFixture::Scan(std::vector<Extent> extents, int64_t target_generation) {
  ScanUpload upload(
      *writer_, *volume_,
      {.incarnation = Record().incarnation(), .target_generation = target_generation});
  EXPECT_THAT(upload.Add(std::move(extents), 0), IsOk());
  EXPECT_THAT(upload.End(), IsOk());
  return upload.progress().new_count;
}

std::vector<PlanGroup> IndexFixture::PlanGroups(PlanKind kind, std::optional<PlanPosition> after) {
  auto plan = OpenPlan(*store_, *volume_, Record().incarnation(), {.kind = kind, .after = after});
  CHECK(plan.ok());
  std::vector<PlanGroup> all;
  while (true) {
    auto groups = (*plan)->Next();
    EXPECT_THAT(groups, IsOk());
    if (!groups.ok() || groups->empty()) return all;
    std::move(groups->begin(), groups->end(), std::back_inserter(all));
  }
}

std::vector<Group> IndexFixture::Plan(PlanKind kind) {
  std::vector<Group> groups;
  for (const PlanGroup& group : PlanGroups(kind)) {
    Group addresses;
    for (const PlanMember& member : group.members) addresses.push_back(member.address);
    groups.push_back(addresses);
  }
  return groups;
}

void IndexFixture::Report(uint64_t address, v1::Outcome outcome, v1::Holder holder,
                          uint64_t generation) {
  EXPECT_THAT(
      RecordResults(
          *store_, *volume_, Record().incarnation(),
          {{.address = address, .generation = generation, .outcome = outcome, .holder = holder}}),
      IsOk());
}

void IndexFixture::EndBoth(uint64_t subvolumes, uint64_t scope) {
  EXPECT_THAT(EndPlan(*store_, *volume_, Record().incarnation(),
                      {.whole = true,
                       .inside = true,
                       .scope_digest = scope,
                       .subvolume_set_digest = subvolumes,
                       .inside_done = true}),
              IsOk());
}

void IndexFixture::EndWhole() {
  EXPECT_THAT(EndPlan(*store_, *volume_, Record().incarnation(), {.whole = true}), IsOk());
}

void IndexFixture::ReconsiderAt(const Circumstances& now) {
  EXPECT_THAT(Reconsider(*store_, *volume_, Record().incarnation(), now), IsOk());
}

HeadMatcher::Counts IndexFixture::SendHits(std::vector<Hit> hits, bool full) {
  HitUpload upload(*store_, *volume_, Record().incarnation(), full);
  EXPECT_THAT(upload.Add(hits), IsOk());
  EXPECT_THAT(upload.End(), IsOk());
  return upload.counts();
}

std::optional<Extent> IndexFixture::Find(uint64_t address) {
  const auto bytes = store_->Get(AddressKey(Kind::kExtent, NumberOf(Record()), address));
  CHECK(bytes.ok());
  if (!bytes->has_value()) return std::nullopt;
  auto extent = ParseExtent(address, **bytes);
  CHECK(extent.ok());
  return *std::move(extent);
}

std::vector<uint64_t> IndexFixture::Addresses(Kind kind) {
  std::vector<uint64_t> addresses;
  for (const auto& [key, value] : RowsWith(*store_, KeyPrefix(kind, NumberOf(Record())))) {
    const auto address = ParseAddressKey(kind, key);
    CHECK(address.ok());
    addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace onefold::index
