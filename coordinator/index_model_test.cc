// Everything at once, in random order, with crashes: whatever happens, rows and counters agree, and
// plans offer exactly the groups that a look at all rows would find.

#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/testing/temp_dir.h"
#include "common/testing/test_seed.h"
#include "coordinator/rocks_store.h"
#include "coordinator/sweep.h"
#include "coordinator/testing/index_fixture.h"
#include "coordinator/testing/index_invariants.h"
#include "coordinator/testing/memory_store.h"
#include "coordinator/work_queue.h"

namespace onefold::index {
namespace {

class IndexModelTest : public IndexFixture {
 protected:
  void Step() {
    switch (Chance(14)) {
      case 0:
      case 1:
      case 2: ScanSome(); break;
      case 3: SweepSome(); break;
      case 4:
      case 5:
      case 6:
      case 7:
      case 8: ReportSome(); break;
      case 9: Plan(PlanKind::kWhole); break;
      case 10: Plan(PlanKind::kInside); break;
      case 11: Chance(3) == 0 ? EndWhole() : EndBoth(Chance(2), Chance(2)); break;
      case 12:
        ReconsiderAt({.scope_digest = Chance(2),
                      .subvolume_set_digest = Chance(2),
                      .run_begins = Chance(8) == 0});
        break;
      case 13: SendSomeHits(); break;
    }
  }

  void Check() {
    ASSERT_THAT(Violations(*store_, Record()), ::testing::IsEmpty());
    std::set<std::set<uint64_t>> planned;
    for (const Group& group : Plan(PlanKind::kWhole)) planned.insert({group.begin(), group.end()});
    // Fetching the plan ended an epoch, which changes what a plan would offer only when it ends.
    ASSERT_EQ(planned, ExpectedGroups());
  }

  uint64_t Chance(uint64_t n) { return random_() % n; }

 private:
  Extent SomeExtent(uint64_t address) {
    const auto length = static_cast<uint32_t>(1 + Chance(6));
    const uint64_t generation = generation_ - Chance(2);
    if (Chance(6) == 0) {
      return WithoutChecksums(address, length,
                              Chance(2) == 0 ? ChecksumState::kNone : ChecksumState::kPartial,
                              generation);
    }
    Extent extent = File(address, length, 1 + Chance(20), 1 + Chance(30), generation);
    if (Chance(4) == 0) extent.anchors.push_back({.digest = 64 * Chance(4), .offset = 0});
    return extent;
  }

  void ScanSome() {
    ++generation_;
    std::map<uint64_t, Extent> extents;
    for (uint64_t n = Chance(20); n > 0; --n) {
      const uint64_t address = 1 + Chance(200);
      extents[address] = SomeExtent(address);
    }
    std::vector<Extent> rows;
    for (auto& [address, extent] : extents) rows.push_back(extent);
    Scan(rows, static_cast<int64_t>(generation_));
    if (Chance(3) == 0) Scan(rows, static_cast<int64_t>(generation_));  // the answer was lost
  }

  void SweepSome() {
    std::vector<ListedExtent> listed;
    for (const uint64_t address : Addresses(Kind::kExtent)) {
      if (Chance(5) != 0) listed.push_back({address, Find(address)->generation});
    }
    Sweep sweep(*store_, *volume_, {.incarnation = Record().incarnation()});
    EXPECT_THAT(sweep.Add(listed, 0), IsOk());
    if (Chance(2) == 0) {
      EXPECT_THAT(sweep.End(), IsOk());
    }
  }

  void ReportSome() {
    std::vector<ExtentResult> results;
    for (uint64_t n = Chance(6); n > 0; --n) {
      const uint64_t address = 1 + Chance(200);
      const auto extent = Find(address);
      const auto outcome = static_cast<v1::Outcome>(1 + Chance(8));
      results.push_back({.address = address,
                         .generation = extent && Chance(5) != 0 ? extent->generation : 1,
                         .outcome = outcome,
                         .holder = outcome == v1::OUTCOME_PINNED
                                       ? static_cast<v1::Holder>(1 + Chance(3))
                                       : v1::HOLDER_UNSPECIFIED});
    }
    EXPECT_THAT(RecordResults(*store_, *volume_, Record().incarnation(), results), IsOk());
  }

  void SendSomeHits() {
    std::vector<Hit> hits;
    for (uint64_t n = Chance(20); n > 0; --n) {
      hits.push_back({.digest = 1 + Chance(30),
                      .address = 1 + Chance(200),
                      .offset = static_cast<uint32_t>(Chance(6))});
    }
    SendHits(hits, Chance(2) == 0);
  }

  std::set<std::set<uint64_t>> ExpectedGroups() {
    std::map<std::pair<uint64_t, uint32_t>, std::set<uint64_t>> groups;
    std::set<std::pair<uint64_t, uint32_t>> waiting;
    for (const uint64_t address : Addresses(Kind::kExtent)) {
      IndexedExtent indexed{.extent = *Find(address), .waiting = std::nullopt};
      if (!indexed.extent.complete()) continue;
      const auto row = store_->Get(AddressKey(Kind::kWaiting, NumberOf(Record()), address));
      CHECK(row.ok());
      if (row->has_value()) indexed.waiting = *ParseWaiting(**row);
      const std::pair key(indexed.extent.digest, indexed.extent.length);
      groups[key].insert(address);
      if (WaitsForWhole(Queue(), indexed)) waiting.insert(key);
    }
    std::set<std::set<uint64_t>> expected;
    for (const auto& [key, members] : groups) {
      if (members.size() >= 2 && waiting.contains(key)) expected.insert(members);
    }
    return expected;
  }

  std::mt19937_64 random_{TestSeed()};
  uint64_t generation_ = 10;
};

TEST_F(IndexModelTest, RowsCountersAndPlansAgreeInMemory) {
  for (int step = 0; step < 600; ++step) {
    Step();
    Check();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "at step " << step;
    if (Chance(20) == 0) Reopen();
  }
}

// The files are copied as they are while the store is open, which is what a kill leaves behind.
TEST_F(IndexModelTest, TheyAgreeAfterCrashesOnDisk) {
  const TempDir directory;
  int life = 0;
  const auto path = [&] { return absl::StrCat(directory.path(), "/", life); };
  std::filesystem::create_directory(path());
  auto store = OpenRocksStore(path(), {});
  ASSERT_THAT(store, IsOk());
  Reopen(*std::move(store));
  for (int step = 0; step < 200; ++step) {
    Step();
    Check();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "at step " << step;
    if (Chance(20) != 0) continue;
    const std::string crashed = path();
    ++life;
    std::filesystem::copy(crashed, path(), std::filesystem::copy_options::recursive);
    const VolumeRecord before = Record();
    store = OpenRocksStore(path(), {});
    ASSERT_THAT(store, IsOk());
    Reopen(*std::move(store));
    EXPECT_EQ(Record().extent_count(), before.extent_count());
    EXPECT_EQ(Record().incarnation(), before.incarnation());
    Check();
  }
  Reopen(std::make_unique<MemoryStore>());  // closes the files before their directory goes
}

}  // namespace
}  // namespace onefold::index
