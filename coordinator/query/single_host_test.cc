#include "coordinator/query/single_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/query/fleet_view.h"
#include "coordinator/query/scratch_store.h"
#include "coordinator/state_keys.h"
#include "onefold/storage/v1/run.pb.h"

namespace onefold::query {
namespace {

using storage::v1::RunRecord;

VolumeUuid Uuid(uint8_t byte) {
  VolumeUuid uuid;
  uuid.bytes.fill(byte);
  return uuid;
}

class SingleHostTest : public testing::Test {
 protected:
  SingleHostTest() {
    host_.name = "nas1";
    host_.now = clock_.Now();
    host_.indexed = {Uuid(1), Uuid(2)};
    v1::MountedVolume films;
    films.set_volume_uuid(ToBytes(Uuid(1)));
    films.set_label("films");
    films.add_mount_paths("/srv/films");
    films.set_size_bytes(1000);
    films.set_used_bytes(700);
    host_.mounted = {films};
  }

  void Put(const std::string& name, const std::string& bytes) {
    index::RowBatch rows;
    rows.Put(index::RecordKey(name), bytes);
    ASSERT_THAT(state_.Write(rows), IsOk());
  }

  RunRecord Run(int64_t number, int64_t freed, const std::string& outcome = "completed") {
    RunRecord run;
    run.set_run_number(number);
    run.set_run_id(absl::StrCat("run-number-", number));
    run.set_start_time_unix_millis(
        absl::ToUnixMillis(clock_.Now() - absl::Hours(1000) + absl::Hours(24 * number)));
    run.set_elapsed_millis(60'000);
    run.set_outcome(outcome);
    if (freed >= 0) run.set_freed_bytes(freed);
    return run;
  }

  static void AddVolume(RunRecord& run, uint8_t uuid, int64_t freed) {
    storage::v1::RunVolume& volume = *run.add_volumes();
    volume.set_volume_uuid(ToBytes(Uuid(uuid)));
    volume.set_freed_bytes(freed);
    volume.set_pinned_bytes(5);
  }

  void Keep(const RunRecord& run) {
    Put(absl::StrCat("run/", run.run_number()), run.SerializeAsString());
  }

  Fleet& Open() {
    EXPECT_THAT(WriteBooks(state_, host_, books_), IsOk());
    auto fleet = Fleet::Open({}, books_, clock_);
    EXPECT_THAT(fleet, IsOk());
    fleet_ = *std::move(fleet);
    return *fleet_;
  }

  FakeClock clock_;
  SingleHost host_;
  ScratchStore state_;
  ScratchStore books_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(SingleHostTest, FiguresOfVolumes) {
  RunRecord first = Run(0, 30);
  AddVolume(first, 1, 20);
  AddVolume(first, 2, 10);
  Keep(first);
  RunRecord second = Run(1, 7);
  AddVolume(second, 1, 7);
  Keep(second);
  storage::v1::Lifetime lifetime;
  lifetime.set_run_count(2);
  lifetime.set_freed_bytes(37);
  Put("lifetime", lifetime.SerializeAsString());
  Open().Look([](const Fleet::Glance& glance) {
    const FleetView view(
        glance, [](const VolumeUuid&) { return std::nullopt; }, nullptr);
    ASSERT_EQ(view.volumes().size(), 2u);
    const absl::StatusOr<const v1::Volume*> films = view.FindVolume("films");
    ASSERT_THAT(films, IsOk());
    EXPECT_EQ((*films)->space().freed_bytes(), 27);
    EXPECT_FALSE((*films)->space().freed_at_least());
    EXPECT_EQ((*films)->space().used_bytes(), 700);
    EXPECT_EQ((*films)->space().pinned_bytes(), 5);
    EXPECT_EQ((*films)->last_run().run_id(), "run-number-1");
    EXPECT_EQ((*films)->trouble(), "");
    const absl::StatusOr<const v1::Volume*> away = view.FindVolume(ToString(Uuid(2)));
    ASSERT_THAT(away, IsOk());
    EXPECT_EQ((*away)->space().freed_bytes(), 10);
    EXPECT_FALSE((*away)->space().has_used_bytes());
    EXPECT_THAT((*away)->trouble(), testing::HasSubstr("not mounted"));
    EXPECT_EQ(view.Summary(Filter(), {}).total().freed_bytes(), 37);
    EXPECT_EQ(glance.books().runs.runs().size(), 3u);
  });
  const auto history = fleet_->History(VolumeUuid(), 0, int64_t{1} << 60);
  ASSERT_THAT(history, IsOk());
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ((*history)[0].record.freed_bytes(), 30);
  EXPECT_EQ((*history)[1].record.freed_bytes(), 37);
}

// Nobody knows which volume was freed of what older programs freed: it is not made up.
TEST_F(SingleHostTest, RecordsOfOlderPrograms) {
  Keep(Run(0, 30));
  RunRecord second = Run(1, 7);
  AddVolume(second, 1, 7);
  Keep(second);
  storage::v1::Lifetime lifetime;
  lifetime.set_run_count(2);
  lifetime.set_freed_bytes(37);
  Put("lifetime", lifetime.SerializeAsString());
  Open().Look([](const Fleet::Glance& glance) {
    const FleetView view(
        glance, [](const VolumeUuid&) { return std::nullopt; }, nullptr);
    EXPECT_EQ((*view.FindVolume("films"))->space().freed_bytes(), 7);
    EXPECT_TRUE((*view.FindVolume("films"))->space().freed_at_least());
    EXPECT_EQ(view.Summary(Filter(), {}).total().freed_bytes(), 37);
    EXPECT_FALSE(view.Summary(Filter(), {}).total().freed_at_least());
  });
}

TEST_F(SingleHostTest, ARunThatDidNotEnd) {
  storage::v1::Lifetime lifetime;
  lifetime.set_run_count(1);
  *lifetime.mutable_open_run() = Run(0, -1, "");
  AddVolume(*lifetime.mutable_open_run(), 1, 0);
  Put("lifetime", lifetime.SerializeAsString());
  const auto state_of = [&] {
    v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
    Open().Look([&](const Fleet::Glance& glance) {
      EXPECT_EQ(glance.books().runs.runs().size(), 1u);
      state = glance.books().runs.runs().begin()->second.state();
    });
    return state;
  };
  EXPECT_EQ(state_of(), v1::RUN_STATE_FAILED);  // killed
  EXPECT_TRUE(fleet_->Totals().incomplete());
  host_.running = true;
  EXPECT_EQ(state_of(), v1::RUN_STATE_RUNNING);
  EXPECT_FALSE(fleet_->Totals().incomplete());
}

TEST_F(SingleHostTest, DamagedRecordsAreUnknown) {
  Put("run/000", "\xff\xff");
  Put("lifetime", "\xff\xff");
  Open();
  EXPECT_TRUE(fleet_->Totals().incomplete());
  const absl::StatusOr<bool> has = HasFleetBooks(state_);
  ASSERT_THAT(has, IsOk());
  EXPECT_FALSE(*has);
  EXPECT_TRUE(*HasFleetBooks(books_));
}

}  // namespace
}  // namespace onefold::query
