// When the fleet writes, who waits for it, and what others see meanwhile. The disk is a store whose
// writes end when the test says so.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutex.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

// A MemoryStore whose writes can be held up.
class GatedStore final : public index::OrderedStore {
 public:
  std::unique_ptr<index::StoreCursor> Walk(absl::string_view prefix) const override {
    return store_.Walk(prefix);
  }
  std::unique_ptr<index::StoreCursor> LookUp() const override { return store_.LookUp(); }
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    return store_.Get(key);
  }
  absl::Status Write(const index::RowBatch& batch) override {
    MutexLock lock(&mutex_);
    ++write_count_;
    changed_.NotifyAll();
    while (closed_) changed_.Wait(&mutex_);
    return store_.Write(batch);
  }
  absl::Status DropRange(absl::string_view begin, absl::string_view end) override {
    return store_.DropRange(begin, end);
  }
  absl::Status Compact() override { return store_.Compact(); }

  void SetClosed(bool closed) {
    MutexLock lock(&mutex_);
    closed_ = closed;
    changed_.NotifyAll();
  }
  // Writes that were begun so far; waits until there are `count`.
  void AwaitWrites(int count) {
    MutexLock lock(&mutex_);
    while (write_count_ < count) changed_.Wait(&mutex_);
  }
  int write_count() {
    MutexLock lock(&mutex_);
    return write_count_;
  }
  void FailWrites(absl::Status status) { store_.FailWrites(std::move(status)); }

 private:
  index::MemoryStore store_;
  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int write_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Counts how often it is asked: each report asks once, with the fleet's lock held.
class CountingClock final : public Clock {
 public:
  absl::Time Now() override { return clock_.Now(); }
  absl::Duration Monotonic() override {
    ++count_;
    return clock_.Monotonic();
  }
  int count() const { return count_; }

 private:
  FakeClock clock_;
  std::atomic<int> count_ = 0;
};

class FleetWritesTest : public ::testing::Test {
 protected:
  FleetWritesTest() {
    absl::StatusOr<std::unique_ptr<Fleet>> fleet =
        Fleet::Open({.time_zone = absl::UTCTimeZone()}, store_, clock_);
    CHECK(fleet.ok());
    fleet_ = *std::move(fleet);
  }
  ~FleetWritesTest() override {
    store_.SetClosed(false);
    Join();
  }

  // A host with volume `n`.
  absl::Status Sync(const std::string& id, uint8_t n, absl::string_view label = "") {
    v1::HostReport report;
    v1::MountedVolume& volume = *report.add_volumes();
    volume.set_volume_uuid(ToBytes(VolumeUuid{{n}}));
    volume.set_label(std::string(label));
    volume.add_mount_paths("/srv");
    volume.add_allowed_roots("/srv");
    return fleet_->HandleSync(id, "1.0", report).status();
  }
  // The same in a thread of its own; returns when it waits for the disk, or has ended.
  void BeginSync(const std::string& id, uint8_t n, absl::string_view label = "") {
    const int asked = clock_.count();
    threads_.emplace_back([this, id, n, label = std::string(label)] {
      absl::Status status = Sync(id, n, label);
      MutexLock lock(&mutex_);
      ended_.push_back(std::move(status));
    });
    while (clock_.count() == asked) std::this_thread::yield();
    fleet_->Totals();  // takes the lock that the report holds until it waits
  }
  std::vector<absl::Status> Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    MutexLock lock(&mutex_);
    return std::exchange(ended_, {});
  }

  CountingClock clock_;
  GatedStore store_;
  std::unique_ptr<Fleet> fleet_;
  std::vector<std::thread> threads_;
  Mutex mutex_;
  std::vector<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
};

// A thousand hosts that come back after a power cut must not wait for a thousand writes.
TEST_F(FleetWritesTest, ReportsThatWaitShareOneWrite) {
  store_.SetClosed(true);
  BeginSync("first", 100);
  store_.AwaitWrites(1);
  for (uint8_t n = 0; n < 20; ++n) BeginSync(absl::StrCat("h", n), n);
  store_.SetClosed(false);
  EXPECT_THAT(Join(), AllOf(SizeIs(21), Each(IsOk())));
  EXPECT_EQ(store_.write_count(), 2);
  EXPECT_THAT(fleet_->ListHosts(), SizeIs(21));
}

// A slow disk is no reason to keep hosts waiting that have nothing to tell.
TEST_F(FleetWritesTest, WhoChangesNothingWaitsForNoDisk) {
  ASSERT_THAT(Sync("quiet", 1), IsOk());
  store_.SetClosed(true);
  BeginSync("new", 2);
  store_.AwaitWrites(2);
  EXPECT_THAT(Sync("quiet", 1), IsOk());
  EXPECT_THAT(fleet_->MaySpeakOf("quiet", VolumeUuid{{1}}), IsOk());
  EXPECT_EQ(store_.write_count(), 2);
}

// What is answered must not be gone after a crash: nobody sees what is not yet written.
TEST_F(FleetWritesTest, NobodySeesWhatIsNotWritten) {
  store_.SetClosed(true);
  BeginSync("new", 1);
  store_.AwaitWrites(1);
  EXPECT_THAT(fleet_->ListHosts(), SizeIs(0));
  EXPECT_THAT(fleet_->MaySpeakOf("new", VolumeUuid{{1}}),
              HasCode(absl::StatusCode::kPermissionDenied));
  store_.SetClosed(false);
  EXPECT_THAT(Join(), Each(IsOk()));
  EXPECT_THAT(fleet_->MaySpeakOf("new", VolumeUuid{{1}}), IsOk());
}

// Two hosts with one filesystem, reported at the same moment: it is one's, and stays that one's.
TEST_F(FleetWritesTest, ReportsOfOneVolumeAreTakenOneAfterTheOther) {
  store_.SetClosed(true);
  BeginSync("other", 9);
  store_.AwaitWrites(1);
  for (int n = 0; n < 5; ++n) BeginSync(absl::StrCat("h", n), 1);
  store_.SetClosed(false);
  EXPECT_THAT(Join(), AllOf(SizeIs(6), Each(IsOk())));
  EXPECT_THAT(fleet_->MaySpeakOf("h0", VolumeUuid{{1}}), IsOk());
  for (int n = 1; n < 5; ++n) {
    EXPECT_THAT(fleet_->MaySpeakOf(absl::StrCat("h", n), VolumeUuid{{1}}),
                HasCode(absl::StatusCode::kPermissionDenied));
  }
  absl::StatusOr<std::unique_ptr<Fleet>> again =
      Fleet::Open({.time_zone = absl::UTCTimeZone()}, store_, clock_);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT((*again)->MaySpeakOf("h0", VolumeUuid{{1}}), IsOk());
}

// A full disk refuses all who shared the write, and what a person wants comes in its turn.
TEST_F(FleetWritesTest, AFailedWriteChangesNothingForAnybody) {
  ASSERT_THAT(Sync("h0", 1, "before"), IsOk());
  store_.SetClosed(true);
  BeginSync("other", 9);
  store_.AwaitWrites(2);
  BeginSync("h0", 1, "after");
  BeginSync("h2", 2);
  store_.FailWrites(absl::ResourceExhaustedError("full"));
  store_.SetClosed(false);
  EXPECT_THAT(Join(), AllOf(SizeIs(3), Each(HasCode(absl::StatusCode::kResourceExhausted))));
  ASSERT_THAT(fleet_->ListHosts(), SizeIs(1));
  EXPECT_EQ(fleet_->ListHosts()[0].volumes(0).label(), "before");
  store_.FailWrites(absl::OkStatus());
  EXPECT_THAT(Sync("h0", 1, "after"), IsOk());
  EXPECT_EQ(fleet_->ListHosts()[0].volumes(0).label(), "after");
}

// Many of everything at a time, for ThreadSanitizer, and against a turn that is never given on.
TEST_F(FleetWritesTest, EverybodyGetsATurn) {
  constexpr int kRounds = 50;
  std::vector<std::thread> callers;
  for (uint8_t n = 0; n < 6; ++n) {
    callers.emplace_back([this, n] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_THAT(Sync(absl::StrCat("h", n), n, absl::StrCat("label", round)), IsOk());
      }
    });
  }
  callers.emplace_back([this] {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_THAT(fleet_->Tick(), IsOk());
      fleet_->SetDrained("h1", round % 2 == 0).IgnoreError();
      EXPECT_THAT(fleet_->ListHosts(), SizeIs(Le(6u)));
    }
  });
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(fleet_->ListHosts(), SizeIs(6));
  EXPECT_THAT(store_.write_count(), AllOf(Ge(kRounds), Le(6 * kRounds + 2 * kRounds)));
}

}  // namespace
}  // namespace onefold
