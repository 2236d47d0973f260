// A small language for tests of the index: one volume on a store, spoken to as a worker would.
//
//   Scan({File(100, 8, 0xAA), File(200, 8, 0xAA)});
//   EXPECT_THAT(Plan(PlanKind::kWhole), ElementsAre(ElementsAre(100, 200)));
//
// Every test ends with a look at all rows and counters (index_invariants.h).

#ifndef ONEFOLD_COORDINATOR_TESTING_INDEX_FIXTURE_H_
#define ONEFOLD_COORDINATOR_TESTING_INDEX_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/testing/status_matchers.h"
#include "coordinator/head_matcher.h"
#include "coordinator/outcome_recorder.h"
#include "coordinator/plan_stream.h"
#include "coordinator/scan_upload.h"
#include "coordinator/volume_book.h"
#include "coordinator/wire_orders.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {

inline constexpr VolumeUuid kTestVolume = {{1, 2, 3}};
inline constexpr VolumeBook::Shape kTestShape = {.block_bytes = 4096, .checksum_kind = 1};

// An extent with complete checksums whose digest stands for its content, and whose head is made of
// it or given.
Extent File(uint64_t address, uint32_t length, uint64_t content, uint64_t head = 0,
            uint64_t generation = 10);
Extent WithoutChecksums(uint64_t address, uint32_t length, ChecksumState state,
                        uint64_t generation = 10);
Extent WithAnchors(Extent extent, std::vector<Anchor> anchors);

// Addresses of a group's members.
using Group = std::vector<uint64_t>;

class IndexFixture : public ::testing::Test {
 protected:
  // On memory unless a test brings another store.
  IndexFixture();
  explicit IndexFixture(std::unique_ptr<OrderedStore> store);
  void TearDown() override;

  // Closes everything and opens it again on `store`, or on the same one.
  void Reopen(std::unique_ptr<OrderedStore> store = nullptr);

  VolumeRecord Record() { return volume_->Record(); }
  QueueRecord Queue() { return Record().queue(); }

  // A scan from begin to end. Returns how many rows were new.
  int64_t Scan(std::vector<Extent> extents, int64_t target_generation = 10);
  // All groups of a plan that is fetched now.
  std::vector<Group> Plan(PlanKind kind);
  std::vector<PlanGroup> PlanGroups(PlanKind kind, std::optional<PlanPosition> after = {});
  void Report(uint64_t address, v1::Outcome outcome, v1::Holder holder = v1::HOLDER_UNSPECIFIED,
              uint64_t generation = 10);
  // A plan of both kinds was worked through.
  void EndBoth(uint64_t subvolumes = 0, uint64_t scope = 0);
  void EndWhole();
  void ReconsiderAt(const Circumstances& now);
  // Windows that met the filter.
  HeadMatcher::Counts SendHits(std::vector<Hit> hits, bool full = true);

  std::optional<Extent> Find(uint64_t address);
  std::vector<uint64_t> Addresses(Kind kind);

  std::unique_ptr<OrderedStore> store_;
  std::unique_ptr<VolumeBook> book_;
  Volume* volume_ = nullptr;
  std::unique_ptr<ScanWriter> writer_;
};

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_TESTING_INDEX_FIXTURE_H_
