#include "worker/daemon/run_desk.h"

#include <future>

#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/memory_journal.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Works until it is told to end, by the desk or by the test.
class FakeRunner final : public Runner {
 public:
  End Run(const v1::RunOrder& order, RunTicket& ticket, VolumeReport& report) override {
    MutexLock lock(&mutex_);
    ++parts[order.run_id()];
    ticket.progress().dedupe_requests = 2;
    ++working_;
    changed_.NotifyAll();
    while (!ticket.stop().requested() && !finish_) {
      if (lose_lease_) ticket.LoseLease("the lease ran out");
      changed_.WaitFor(&mutex_, std::chrono::milliseconds(1));
    }
    --working_;
    report.counters.bytes_freed = 100;
    report.counters.dedupe_requests = requests;
    changed_.NotifyAll();
    return end_;
  }

  void WaitUntilWorking(int count) {
    MutexLock lock(&mutex_);
    while (working_ != count) changed_.Wait(&mutex_);
  }
  // What works, ends by itself.
  void Finish(End end = {}) {
    MutexLock lock(&mutex_);
    end_ = std::move(end);
    finish_ = true;
    while (working_ > 0) changed_.WaitFor(&mutex_, std::chrono::milliseconds(1));
  }
  void GoOnWorking() {
    MutexLock lock(&mutex_);
    finish_ = lose_lease_ = false;
    end_ = {};
  }
  void LoseLeases() {
    MutexLock lock(&mutex_);
    lose_lease_ = true;
  }
  int parts_of(const std::string& id) {
    MutexLock lock(&mutex_);
    return parts[id];
  }

  int requests = 5;

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, int> parts ABSL_GUARDED_BY(mutex_);
  int working_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finish_ ABSL_GUARDED_BY(mutex_) = false;
  bool lose_lease_ ABSL_GUARDED_BY(mutex_) = false;
  End end_ ABSL_GUARDED_BY(mutex_);
};

class RunDeskTest : public ::testing::Test {
 protected:
  RunDeskTest() { Restart(); }

  void Restart() {
    desk_.reset();
    desk_ = std::make_unique<RunDesk>(RunDesk::Options{}, clock_, journal_, runner_, [] {});
    ASSERT_THAT(desk_->Load(), IsOk());
  }

  static v1::RunOrder Order(const std::string& id, v1::RunOrder::Action action, char volume = 'v') {
    v1::RunOrder order;
    order.set_run_id(id);
    order.set_volume_uuid(std::string(16, volume));
    order.set_action(action);
    return order;
  }
  void Tell(const v1::RunOrder& order) {
    EXPECT_THAT(desk_->Take(order, clock_.Monotonic()), IsOk());
    desk_->Tick();
  }
  void Tell(const std::string& id, v1::RunOrder::Action action, char volume = 'v') {
    Tell(Order(id, action, volume));
  }
  v1::RunStatus Status(const std::string& id) {
    for (const RunDesk::Known& run : desk_->Runs()) {
      if (run.status.run_id() == id) return run.status;
    }
    return {};
  }
  // Until nobody works any more.
  void AwaitIdle() {
    while (desk_->working_count() > 0) std::this_thread::yield();
    desk_->Tick();
  }

  FakeClock clock_;
  MemoryRunJournal journal_;
  FakeRunner runner_;
  std::unique_ptr<RunDesk> desk_;
};

constexpr auto kRun = v1::RunOrder::ACTION_RUN;
constexpr auto kPause = v1::RunOrder::ACTION_PAUSE;
constexpr auto kCancel = v1::RunOrder::ACTION_CANCEL;
constexpr auto kForget = v1::RunOrder::ACTION_FORGET;

TEST_F(RunDeskTest, ARunFromOrderToForgotten) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(Status("a").figures().dedupe_requests(), 2);
  EXPECT_FALSE(Status("a").figures().has_bytes_freed());
  clock_.Advance(absl::Seconds(7));
  runner_.Finish();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Status("a").figures().bytes_freed(), 100);
  EXPECT_EQ(Status("a").elapsed().seconds(), 7);
  Tell("a", kRun);  // late
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
  Tell("a", kForget);
  EXPECT_THAT(desk_->Runs(), IsEmpty());
  EXPECT_THAT(journal_.runs, IsEmpty());
  Tell("a", kForget);
  EXPECT_THAT(desk_->Runs(), IsEmpty());
  EXPECT_EQ(runner_.parts_of("a"), 1);
}

// The same answer may come twice; a run must not be worked on twice for it.
TEST_F(RunDeskTest, RepeatedOrdersAreHarmless) {
  for (int i = 0; i < 3; ++i) Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  for (int i = 0; i < 3; ++i) Tell("a", kRun);
  EXPECT_EQ(desk_->working_count(), 1);
  EXPECT_EQ(runner_.parts_of("a"), 1);
}

TEST_F(RunDeskTest, OneRunOnAVolumeAndAFewOnTheHost) {
  Tell("a", kRun, 'v');
  Tell("b", kRun, 'v');
  Tell("c", kRun, 'w');
  Tell("d", kRun, 'x');
  runner_.WaitUntilWorking(2);
  EXPECT_EQ(runner_.parts_of("b") + runner_.parts_of("d"), 0);
  EXPECT_THAT(Status("b").message(), HasSubstr("another run"));
  runner_.Finish();
  AwaitIdle();
  AwaitIdle();
  EXPECT_EQ(Status("b").state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Status("d").state(), v1::RUN_STATE_COMPLETED);
}

TEST_F(RunDeskTest, PausedAndResumed) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  Tell("a", kPause);
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_PAUSED);
  Restart();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_PAUSED);
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  runner_.Finish();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Status("a").figures().bytes_freed(), 200);
  EXPECT_EQ(Status("a").figures().dedupe_requests(), 10);
}

// "Go on" may come before the part that was told to stop has noticed.
TEST_F(RunDeskTest, ResumedBeforeItStopped) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  Tell("a", kPause);
  Tell("a", kRun);
  while (runner_.parts_of("a") < 2) desk_->Tick();
  runner_.Finish();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
}

TEST_F(RunDeskTest, Cancelled) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  Tell("a", kCancel);
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(Status("a").figures().bytes_freed(), 100);
  v1::RunOrder nameless = Order("a", kCancel);
  nameless.clear_volume_uuid();
  Tell(nameless);
  Tell("unknown", kCancel);
  EXPECT_EQ(Status("unknown").state(), v1::RUN_STATE_CANCELLED);
  EXPECT_FALSE(Status("unknown").figures().has_bytes_freed());
}

TEST_F(RunDeskTest, ForgottenWhileItWorks) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  Tell("a", kForget);
  Tell("a", kRun);  // late
  AwaitIdle();
  EXPECT_THAT(desk_->Runs(), IsEmpty());
  EXPECT_THAT(journal_.runs, IsEmpty());
}

TEST_F(RunDeskTest, TheWindowEnds) {
  v1::RunOrder order = Order("a", kRun);
  order.mutable_time_left()->set_seconds(10);
  Tell(order);
  runner_.WaitUntilWorking(1);
  EXPECT_EQ(desk_->Tick(), clock_.Monotonic() + absl::Seconds(10));
  clock_.Advance(absl::Seconds(9));
  desk_->Tick();
  EXPECT_EQ(desk_->working_count(), 1);
  clock_.Advance(absl::Seconds(1));
  desk_->Tick();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_WAITING);
  EXPECT_THAT(Status("a").message(), HasSubstr("window"));
  clock_.Advance(absl::Hours(20));
  desk_->Tick();
  EXPECT_EQ(desk_->working_count(), 0);
  Tell(order);  // the next one
  runner_.WaitUntilWorking(1);
  EXPECT_EQ(runner_.parts_of("a"), 2);
}

TEST_F(RunDeskTest, TheWindowIsOverBeforeItsTurnComes) {
  v1::RunOrder order = Order("a", kRun);
  order.mutable_time_left()->set_seconds(10);
  ASSERT_THAT(desk_->Take(order, clock_.Monotonic() - absl::Seconds(11)), IsOk());
  desk_->Tick();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_WAITING);
  EXPECT_EQ(runner_.parts_of("a"), 0);
}

// A longer window that was told meanwhile counts.
TEST_F(RunDeskTest, TheLastOrderCounts) {
  v1::RunOrder order = Order("a", kRun);
  order.mutable_time_left()->set_seconds(10);
  Tell(order);
  runner_.WaitUntilWorking(1);
  clock_.Advance(absl::Seconds(9));
  Tell(order);
  clock_.Advance(absl::Seconds(9));
  desk_->Tick();
  EXPECT_EQ(desk_->working_count(), 1);
}

// The coordinator takes it back and orders it again: its figures are those of both attempts.
TEST_F(RunDeskTest, TakenBackAndOrderedAgain) {
  v1::RunOrder order = Order("a", kRun);
  order.set_attempt(1);
  order.mutable_time_left()->set_seconds(10);
  Tell(order);
  runner_.WaitUntilWorking(1);
  EXPECT_EQ(Status("a").attempt(), 1);
  clock_.Advance(absl::Seconds(10));
  desk_->Tick();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_WAITING);
  order.set_action(kForget);
  Tell(order);
  EXPECT_THAT(desk_->Runs(), IsEmpty());
  Restart();
  EXPECT_THAT(desk_->Runs(), IsEmpty());
  order.set_action(kRun);
  order.set_attempt(2);
  Tell(order);
  runner_.WaitUntilWorking(1);
  order.set_action(kPause);
  order.set_attempt(1);
  Tell(order);  // late
  EXPECT_EQ(Status("a").attempt(), 2);
  runner_.Finish();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Status("a").figures().bytes_freed(), 200);
}

TEST_F(RunDeskTest, WhatWasTakenBackIsNotKeptForEver) {
  for (int i = 0; i < 300; ++i) {
    v1::RunOrder order = Order(std::to_string(1000 + i), kRun);
    order.mutable_time_left()->set_seconds(0);
    Tell(order);
    order.set_action(kForget);
    Tell(order);
  }
  desk_->Tick();
  EXPECT_THAT(journal_.runs, SizeIs(100));
  EXPECT_EQ(journal_.runs.begin()->first, "1200");
}

TEST_F(RunDeskTest, WithoutALeaseItWaitsToBeToldAgain) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  runner_.LoseLeases();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_WAITING);
  EXPECT_THAT(Status("a").message(), HasSubstr("lease"));
  runner_.GoOnWorking();
  clock_.Advance(absl::Hours(5));
  desk_->Tick();
  EXPECT_EQ(runner_.parts_of("a"), 1);
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  EXPECT_EQ(runner_.parts_of("a"), 2);
}

// A coordinator that is down for long must not be asked a million times, nor the run given up.
TEST_F(RunDeskTest, ErrorsThatPassAreTriedAgainMoreAndMoreSeldom) {
  runner_.Finish({absl::UnavailableError("down"), true});
  Tell("a", kRun);
  const absl::Duration day = clock_.Monotonic() + absl::Hours(24);
  while (clock_.Monotonic() < day) {
    AwaitIdle();
    EXPECT_EQ(Status("a").state(), v1::RUN_STATE_RUNNING);
    EXPECT_THAT(Status("a").message(), HasSubstr("down"));
    const absl::Duration next = desk_->Tick();
    if (desk_->working_count() == 0) clock_.Advance(next - clock_.Monotonic());
    desk_->Tick();
  }
  EXPECT_LT(runner_.parts_of("a"), 170);
  EXPECT_GT(runner_.parts_of("a"), 130);
}

TEST_F(RunDeskTest, WhatDoesNotPassFails) {
  runner_.requests = 0;
  runner_.Finish({absl::FailedPreconditionError("not allowed"), false});
  Tell("a", kRun);
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(Status("a").message(), "not allowed");
  EXPECT_EQ(Status("a").problem_count(), 1);
}

TEST_F(RunDeskTest, WhatNeverPassesFailsInTheEnd) {
  runner_.Finish({absl::FailedPreconditionError("again and again"), true});
  Tell("a", kRun);
  for (int i = 0; i < 100; ++i) {
    AwaitIdle();
    clock_.Advance(absl::Hours(1));
  }
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_INCOMPLETE);  // requests were made
  EXPECT_EQ(runner_.parts_of("a"), 8);
}

TEST_F(RunDeskTest, AKilledWorkerTakesItUpAgainAndDoesNotPretend) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  const auto as_it_was = journal_.runs;
  desk_.reset();
  journal_.runs = as_it_was;  // nothing was written any more
  Restart();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_WAITING);
  EXPECT_THAT(Status("a").message(), HasSubstr("killed"));
  EXPECT_FALSE(Status("a").figures().has_bytes_freed());
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  runner_.Finish();
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
  EXPECT_FALSE(Status("a").figures().has_bytes_freed());
}

TEST_F(RunDeskTest, StoppedInOrder) {
  Tell("a", kRun);
  runner_.WaitUntilWorking(1);
  EXPECT_TRUE(desk_->Stop(absl::Seconds(60)));
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_WAITING);
  Tell("b", kRun);
  EXPECT_THAT(desk_->Runs(), SizeIs(1));
  Restart();
  EXPECT_EQ(Status("a").figures().bytes_freed(), 100);
}

TEST_F(RunDeskTest, EndsAreToldAgainAfterARestart) {
  runner_.Finish();
  Tell("a", kRun);
  AwaitIdle();
  Restart();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Status("a").figures().bytes_freed(), 100);
}

// A hostile coordinator can order at will.
TEST_F(RunDeskTest, OrdersThatAreNotTaken) {
  EXPECT_THAT(desk_->Take(Order("", kRun), clock_.Monotonic()),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(desk_->Take(Order(std::string(65, 'a'), kRun), clock_.Monotonic()),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(desk_->Take(Order("a", v1::RunOrder::ACTION_UNSPECIFIED), clock_.Monotonic()),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(desk_->Runs(), IsEmpty());
  Tell("a", kPause);
  EXPECT_THAT(desk_->Take(Order("a", kRun, 'w'), clock_.Monotonic()),
              HasCode(absl::StatusCode::kInvalidArgument));
  for (int i = 1; i < 1000; ++i) Tell(std::to_string(i), kPause);
  EXPECT_THAT(desk_->Take(Order("one more", kRun), clock_.Monotonic()),
              HasCode(absl::StatusCode::kResourceExhausted));
}

// A full disk must not keep a run from being worked on, nor from being reported.
TEST_F(RunDeskTest, WorksWithoutADiskToRememberOn) {
  journal_.write_error = absl::ResourceExhaustedError("disk full");
  runner_.Finish();
  Tell("a", kRun);
  AwaitIdle();
  EXPECT_EQ(Status("a").state(), v1::RUN_STATE_COMPLETED);
}

}  // namespace
}  // namespace onefold
