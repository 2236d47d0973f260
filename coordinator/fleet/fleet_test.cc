#include "coordinator/fleet/fleet.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 2001-09-09 01:46:40 UTC, a Sunday, is where FakeClock begins.
class FleetTest : public ::testing::Test {
 protected:
  // What a worker does, as far as the fleet sees it.
  struct Worker {
    std::string id;
    v1::HostReport report;
  };

  FleetTest() { Restart(); }

  void Restart() {
    fleet_.reset();
    absl::StatusOr<std::unique_ptr<Fleet>> fleet = Fleet::Open(options_, state_, clock_);
    CHECK(fleet.ok());
    fleet_ = *std::move(fleet);
  }

  static VolumeUuid Uuid(uint8_t n) { return VolumeUuid{{n}}; }

  static Worker& AddVolume(Worker& worker, uint8_t n, bool allowed = true) {
    v1::MountedVolume& volume = *worker.report.add_volumes();
    volume.set_volume_uuid(ToBytes(Uuid(n)));
    volume.set_label(absl::StrCat("vol", n));
    volume.add_mount_paths(absl::StrCat("/mnt/vol", n));
    if (allowed) volume.add_allowed_roots(absl::StrCat("/mnt/vol", n));
    volume.set_used_bytes(1000 * n);
    return worker;
  }
  static Worker MakeWorker(const std::string& id, std::vector<uint8_t> volumes,
                           std::map<std::string, std::string> labels = {}) {
    Worker worker = {.id = id, .report = {}};
    worker.report.set_display_name(absl::StrCat("nas-", id));
    worker.report.mutable_labels()->insert(labels.begin(), labels.end());
    for (const uint8_t n : volumes) AddVolume(worker, n);
    return worker;
  }

  Fleet::SyncAnswer Sync(const Worker& worker) {
    absl::StatusOr<Fleet::SyncAnswer> answer = fleet_->HandleSync(worker.id, "1.0", worker.report);
    if (!answer.ok()) ADD_FAILURE() << answer.status();
    return answer.ok() ? *std::move(answer) : Fleet::SyncAnswer();
  }
  // What the worker is told, as "ACTION run".
  std::vector<std::string> Orders(const Worker& worker) {
    std::vector<std::string> orders;
    for (const v1::RunOrder& order : Sync(worker).orders) {
      orders.push_back(v1::RunOrder::Action_Name(order.action()).substr(7));
    }
    return orders;
  }
  v1::RunStatus& Report(Worker& worker, const v1::Run& run, v1::RunState state, int64_t freed = -1,
                        int64_t attempt = 0) {
    worker.report.clear_runs();
    v1::RunStatus& status = *worker.report.add_runs();
    status.set_run_id(run.run_id());
    status.set_state(state);
    status.set_attempt(attempt);
    if (freed >= 0) status.mutable_figures()->set_bytes_freed(freed);
    return status;
  }
  v1::Run Start(const std::string& volume) {
    v1::StartRunsRequest request;
    request.set_volume(volume);
    const auto response = fleet_->StartRuns(request);
    CHECK(response.ok() && response->runs_size() == 1);
    return response->runs(0);
  }
  v1::Run Find(const v1::Run& run) {
    const auto found = fleet_->FindRun(run.run_id());
    CHECK(found.ok());
    return *found;
  }
  std::vector<v1::Run> Active() {
    std::vector<v1::Run> runs;
    for (Fleet::NumberedRun& run : fleet_->ListRuns(0, 1000, true)) runs.push_back(run.run);
    return runs;
  }
  void Apply(absl::string_view yaml) { ASSERT_THAT(fleet_->ApplyPolicies(yaml, false), IsOk()); }
  // Time passes in steps in which all hosts call.
  void Pass(absl::Duration time, const std::vector<Worker*>& workers = {}) {
    for (absl::Duration passed; passed < time; passed += absl::Minutes(1)) {
      clock_.Advance(absl::Minutes(1));
      for (const Worker* worker : workers) Sync(*worker);
      ASSERT_THAT(fleet_->Tick(), IsOk());
    }
  }

  Fleet::Options options_ = {.time_zone = absl::UTCTimeZone()};
  FakeClock clock_;
  index::MemoryStore state_;
  std::unique_ptr<Fleet> fleet_;
};

// A first worker that nobody has configured must be safe, and say how to go on.
TEST_F(FleetTest, NothingIsTouchedThatIsNotAllowed) {
  Worker worker = {.id = "h1", .report = {}};
  AddVolume(worker, 1, /*allowed=*/false);
  EXPECT_THAT(Sync(worker).advice,
              ElementsAre(::testing::AllOf(HasSubstr("worker.yaml"), HasSubstr("--allow"))));
  v1::StartRunsRequest request;
  request.set_selector("all");
  const auto response = fleet_->StartRuns(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->runs_size(), 0);
  EXPECT_THAT(response->refused(), ElementsAre(HasSubstr("nothing is allowed")));
  Apply("{name: p, select: all, schedule: '@hourly'}");
  Pass(absl::Hours(2), {&worker});
  EXPECT_THAT(Active(), IsEmpty());
}

TEST_F(FleetTest, ARunFromDueToDone) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  Apply("{name: p, select: all, schedule: '30 2 * * *', throttle: {threads: 3}, roots: [./a]}");
  Pass(absl::Minutes(42), {&worker});
  EXPECT_THAT(Active(), IsEmpty());
  EXPECT_THAT(fleet_->MayLease("h1", Uuid(1)), HasCode(absl::StatusCode::kFailedPrecondition));
  Pass(absl::Minutes(2), {&worker});
  ASSERT_THAT(Active(), SizeIs(1));
  const v1::Run run = Active().front();
  EXPECT_EQ(run.policy(), "p");
  const Fleet::SyncAnswer answer = Sync(worker);
  ASSERT_THAT(answer.orders, SizeIs(1));
  EXPECT_EQ(answer.orders[0].action(), v1::RunOrder::ACTION_RUN);
  EXPECT_EQ(answer.orders[0].throttle().thread_count(), 3);
  EXPECT_EQ(answer.orders[0].scope().roots(0), "./a");
  EXPECT_FALSE(answer.orders[0].has_time_left());
  EXPECT_THAT(fleet_->MayLease("h1", Uuid(1)), IsOk());
  EXPECT_THAT(fleet_->MayLease("h2", Uuid(1)), HasCode(absl::StatusCode::kFailedPrecondition));

  Report(worker, run, v1::RUN_STATE_RUNNING);
  EXPECT_THAT(Orders(worker), ElementsAre("RUN"));
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_RUNNING);
  Report(worker, run, v1::RUN_STATE_COMPLETED, 500);
  EXPECT_THAT(Orders(worker), ElementsAre("FORGET"));
  // The answer was lost, and the report comes again; also after a restart.
  EXPECT_THAT(Orders(worker), ElementsAre("FORGET"));
  Restart();
  EXPECT_THAT(Orders(worker), ElementsAre("FORGET"));
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_COMPLETED);
  EXPECT_EQ(Find(run).status().figures().bytes_freed(), 500);
  EXPECT_EQ(fleet_->Totals().freed_bytes(), 500);
  EXPECT_EQ(fleet_->Totals().run_count(), 1);
  EXPECT_THAT(fleet_->MayLease("h1", Uuid(1)), HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_F(FleetTest, MissedSchedulesRunOnce) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  Apply("{name: p, select: all, schedule: '0 2 * * *'}");
  clock_.Advance(absl::Hours(24 * 10));
  Restart();
  Sync(worker);
  Pass(absl::Minutes(5), {&worker});
  ASSERT_THAT(Active(), SizeIs(1));
  Report(worker, Active().front(), v1::RUN_STATE_COMPLETED, 0);
  Pass(absl::Minutes(5), {&worker});
  EXPECT_THAT(Active(), IsEmpty());
}

// A clock that was wrong at boot must not silence schedules for years, nor run them twice.
TEST_F(FleetTest, ClockThatWasWrong) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  Apply("{name: p, select: all, schedule: '@daily'}");
  clock_.Advance(absl::Hours(24 * 365));
  Sync(worker);
  Pass(absl::Minutes(1), {&worker});
  ASSERT_THAT(Active(), SizeIs(1));
  Report(worker, Active().front(), v1::RUN_STATE_COMPLETED, 0);
  Pass(absl::Minutes(1), {&worker});
  clock_.Advance(-absl::Hours(24 * 365));
  Pass(absl::Hours(1), {&worker});
  EXPECT_THAT(Active(), IsEmpty());
  Pass(absl::Hours(24), {&worker});
  EXPECT_THAT(Active(), SizeIs(1));
}

// Two hosts with one filesystem would each spoil the other's index.
TEST_F(FleetTest, CloneIsRefusedAndMoveIsNoticed) {
  Worker first = MakeWorker("h1", {1});
  Worker second = MakeWorker("h2", {1});
  Sync(first);
  EXPECT_THAT(Sync(second).advice, ElementsAre(HasSubstr("btrfstune -u")));
  EXPECT_THAT(fleet_->MaySpeakOf("h1", Uuid(1)), IsOk());
  EXPECT_THAT(fleet_->MaySpeakOf("h2", Uuid(1)), HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(Find(Start("vol1")).waits_for(), "its host to call");
  EXPECT_THAT(Orders(first), ElementsAre("RUN"));
  EXPECT_THAT(Orders(second), IsEmpty());
  // It was unmounted there: now it is the second one's, and the run goes on here.
  first.report.clear_volumes();
  Sync(first);
  EXPECT_THAT(Sync(second).advice, ElementsAre(HasSubstr("came here from host nas-h1")));
  EXPECT_THAT(fleet_->MaySpeakOf("h2", Uuid(1)), IsOk());
  Pass(absl::Minutes(1), {&first, &second});
  const Fleet::SyncAnswer answer = Sync(second);
  ASSERT_THAT(answer.orders, SizeIs(1));
  EXPECT_EQ(answer.orders[0].action(), v1::RunOrder::ACTION_RUN);
  EXPECT_FALSE(answer.orders[0].full());
  EXPECT_THAT(Orders(first), IsEmpty());
}

// After a host that never let go, the volume may be an old copy: its index begins anew, once.
TEST_F(FleetTest, VolumeOfAForgottenHostIsScannedInFull) {
  Sync(MakeWorker("h1", {1}));
  EXPECT_EQ(Start("vol1").state(), v1::RUN_STATE_WAITING);
  ASSERT_THAT(fleet_->ForgetHost("nas-h1"), IsOk());
  EXPECT_THAT(Active(), IsEmpty());
  Worker second = MakeWorker("h2", {1});
  Sync(second);
  const v1::Run run = Start("vol1");
  EXPECT_TRUE(Sync(second).orders.at(0).full());
  Report(second, run, v1::RUN_STATE_COMPLETED, 0);
  Sync(second);
  Start("vol1");
  second.report.clear_runs();
  EXPECT_FALSE(Sync(second).orders.at(0).full());
}

// "Nothing lost" includes memory: what the disk does not know must not be acted on.
TEST_F(FleetTest, FullDiskChangesNothing) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  Apply("{name: p, select: all, schedule: '@hourly'}");
  const auto rows = state_.rows();
  state_.FailWrites(absl::ResourceExhaustedError("full"));
  v1::StartRunsRequest request;
  request.set_selector("all");
  EXPECT_THAT(fleet_->StartRuns(request), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(fleet_->ApplyPolicies("{name: q, select: all}", false),
              HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(fleet_->DeletePolicy("p"), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(fleet_->SetDrained("h1", true), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(fleet_->ForgetHost("h1"), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(fleet_->HandleSync("h2", "1", MakeWorker("h2", {2}).report),
              HasCode(absl::StatusCode::kResourceExhausted));
  Sync(worker);  // says nothing new, so it needs no disk
  clock_.Advance(absl::Hours(1));
  Sync(worker);
  EXPECT_THAT(fleet_->Tick(), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Active(), IsEmpty());
  EXPECT_THAT(fleet_->ListPolicies(), SizeIs(1));
  EXPECT_THAT(fleet_->ListHosts(), SizeIs(1));
  EXPECT_FALSE(fleet_->ListHosts()[0].drained());
  EXPECT_EQ(state_.rows(), rows);
  state_.FailWrites(absl::OkStatus());
  EXPECT_THAT(fleet_->Tick(), IsOk());
  EXPECT_THAT(Active(), SizeIs(1));
}

TEST_F(FleetTest, LargestGainFirstWithinTheLimits) {
  std::vector<Worker> workers;
  for (uint8_t n = 1; n <= 4; ++n) {
    workers.push_back(
        MakeWorker(absl::StrCat("h", n), {n}, {{"site", n <= 2 ? "berlin" : "paris"}}));
    Sync(workers.back());
  }
  Apply(
      "{name: p, select: all, schedule: '@hourly', at_once: {hosts: 3, group: site, per_group: "
      "1}}");
  clock_.Advance(absl::Hours(1));
  for (const Worker& worker : workers) Sync(worker);
  ASSERT_THAT(fleet_->Tick(), IsOk());
  std::vector<bool> works;
  for (const Worker& worker : workers) works.push_back(!Orders(worker).empty());
  // Volume n uses n thousand bytes; 4 and 2 are the largest of their sites.
  EXPECT_THAT(works, ElementsAre(false, true, false, true));
  for (const v1::Run& run : Active()) {
    if (run.volume_name() == "vol1") {
      EXPECT_EQ(run.waits_for(), "a slot: 1 at once where site=berlin");
    }
  }
}

TEST_F(FleetTest, OneRunAtATimeOnAHost) {
  Worker worker = MakeWorker("h1", {1, 2});
  Sync(worker);
  const v1::Run first = Start("vol1");
  const v1::Run second = Start("vol2");
  EXPECT_THAT(Orders(worker), SizeIs(1));
  EXPECT_THAT(Find(second).waits_for(), HasSubstr(first.run_id()));
}

// A window ends in the middle: the run stops and goes on in the next one, and is one run.
TEST_F(FleetTest, RunGoesOnInTheNextWindow) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  Apply("{name: p, select: all, schedule: '0 3 * * *', window: '03:00-04:00'}");
  Pass(absl::Minutes(80), {&worker});
  const v1::Run run = Active().at(0);
  const v1::RunOrder order = Sync(worker).orders.at(0);
  EXPECT_GT(order.time_left().seconds(), 3000);
  Report(worker, run, v1::RUN_STATE_RUNNING, -1, order.attempt());
  Pass(absl::Minutes(60), {&worker});
  EXPECT_THAT(Orders(worker), ElementsAre("PAUSE"));
  Report(worker, run, v1::RUN_STATE_WAITING, -1, order.attempt());
  EXPECT_THAT(Orders(worker), ElementsAre("FORGET"));
  worker.report.clear_runs();
  Pass(absl::Hours(1), {&worker});
  EXPECT_THAT(Find(run).waits_for(), HasSubstr("window, which opens 2001-09-10 03:00"));
  EXPECT_THAT(Orders(worker), IsEmpty());
  Pass(absl::Hours(22), {&worker});
  ASSERT_THAT(Active(), SizeIs(1));
  const v1::RunOrder again = Sync(worker).orders.at(0);
  EXPECT_EQ(again.run_id(), run.run_id());
  EXPECT_GT(again.attempt(), order.attempt());
  // The old stop comes once more, late: it says nothing of this beginning.
  Report(worker, run, v1::RUN_STATE_WAITING, -1, order.attempt());
  EXPECT_THAT(Orders(worker), ElementsAre("RUN"));
  // A person's run minds no window.
  Report(worker, run, v1::RUN_STATE_COMPLETED, 1);
  Sync(worker);
  worker.report.clear_runs();
  Pass(absl::Hours(2), {&worker});
  const v1::Run by_hand = Start("vol1");
  EXPECT_THAT(Orders(worker), ElementsAre("RUN"));
  EXPECT_EQ(by_hand.policy(), "");
}

TEST_F(FleetTest, CancelPauseResumeDrain) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  v1::Run run = Start("vol1");
  Sync(worker);
  Report(worker, run, v1::RUN_STATE_RUNNING);
  Sync(worker);
  ASSERT_THAT(fleet_->PauseRun(run.run_id()), IsOk());
  EXPECT_THAT(Orders(worker), ElementsAre("PAUSE"));
  Report(worker, run, v1::RUN_STATE_PAUSED);
  Sync(worker);
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_PAUSED);
  Restart();
  Sync(worker);
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_PAUSED);
  ASSERT_THAT(fleet_->ResumeRun(run.run_id().substr(0, 6)), IsOk());
  EXPECT_THAT(Orders(worker), ElementsAre("RUN"));
  Report(worker, run, v1::RUN_STATE_RUNNING);
  Sync(worker);

  ASSERT_THAT(fleet_->SetDrained("h1", true), IsOk());
  EXPECT_THAT(Orders(worker), ElementsAre("PAUSE"));
  Report(worker, run, v1::RUN_STATE_PAUSED);
  EXPECT_THAT(Orders(worker), ElementsAre("PAUSE"));
  Pass(absl::Minutes(2), {&worker});
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_WAITING);
  EXPECT_THAT(Find(run).waits_for(), HasSubstr("drained"));
  ASSERT_THAT(fleet_->SetDrained("nas-h1", false), IsOk());
  Pass(absl::Minutes(1), {&worker});
  EXPECT_THAT(Orders(worker), ElementsAre("RUN"));

  ASSERT_THAT(fleet_->CancelRun(run.run_id()), IsOk());
  EXPECT_THAT(Orders(worker), ElementsAre("CANCEL"));
  Report(worker, run, v1::RUN_STATE_CANCELLED, 70);
  EXPECT_THAT(Orders(worker), ElementsAre("FORGET"));
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(fleet_->Totals().freed_bytes(), 70);
  EXPECT_THAT(fleet_->CancelRun(run.run_id()), IsOk());
  EXPECT_THAT(fleet_->ResumeRun(run.run_id()), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(fleet_->CancelRun("nope"), HasCode(absl::StatusCode::kNotFound));
}

// A host that died must not hold its slot for ever; when it comes back, it may go on.
TEST_F(FleetTest, SilentHostGivesItsSlotBack) {
  options_.runs_at_once = 1;
  Restart();
  Worker dead = MakeWorker("h1", {1});
  Worker other = MakeWorker("h2", {2});
  Sync(dead);
  Sync(other);
  const v1::Run run = Start("vol1");
  Sync(dead);
  Report(dead, run, v1::RUN_STATE_RUNNING, -1, 1);
  Sync(dead);
  Start("vol2");
  EXPECT_THAT(Orders(other), IsEmpty());
  Pass(absl::Minutes(4), {&other});
  EXPECT_THAT(Orders(other), IsEmpty());  // its lease may still run
  Pass(absl::Minutes(2), {&other});
  EXPECT_THAT(Orders(other), ElementsAre("RUN"));
  EXPECT_THAT(Find(run).waits_for(), HasSubstr("silent"));
  EXPECT_EQ(fleet_->ListHosts()[0].state(), v1::Host::STATE_SILENT);
  EXPECT_THAT(Orders(dead), ElementsAre("PAUSE"));
  // It had finished after all.
  Report(dead, run, v1::RUN_STATE_COMPLETED, 9, 1);
  EXPECT_THAT(Orders(dead), ElementsAre("FORGET"));
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_COMPLETED);
}

// Reports are hostile until checked: a host speaks for its own runs.
TEST_F(FleetTest, HostsSpeakOnlyOfTheirOwnRuns) {
  Worker worker = MakeWorker("h1", {1});
  Worker liar = MakeWorker("h2", {2});
  Sync(worker);
  Sync(liar);
  const v1::Run run = Start("vol1");
  Sync(worker);
  Report(liar, run, v1::RUN_STATE_COMPLETED, 1'000'000);
  EXPECT_THAT(Orders(liar), ElementsAre("FORGET"));
  EXPECT_EQ(Find(run).state(), v1::RUN_STATE_WAITING);
  Report(liar, run, v1::RUN_STATE_RUNNING);
  EXPECT_THAT(Orders(liar), ElementsAre("CANCEL"));
  EXPECT_EQ(fleet_->Totals().freed_bytes(), 0);
  v1::HostReport wrong;
  wrong.add_volumes()->set_volume_uuid("short");
  EXPECT_THAT(fleet_->HandleSync("h3", "1", wrong), HasCode(absl::StatusCode::kInvalidArgument));
  wrong.Clear();
  wrong.add_runs()->set_run_id(std::string(100, 'x'));
  EXPECT_THAT(fleet_->HandleSync("h3", "1", wrong), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(fleet_->HandleSync("", "1", {}), HasCode(absl::StatusCode::kInvalidArgument));
}

// A host that reports new volumes each time fills neither disk nor memory.
TEST_F(FleetTest, ClaimsAreBounded) {
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(absl::Seconds(1));
    Worker worker = {.id = "h1", .report = {}};
    v1::MountedVolume& volume = *worker.report.add_volumes();
    volume.set_volume_uuid(absl::StrCat(absl::Dec(i, absl::kZeroPad16)).substr(0, 16));
    Sync(worker);
  }
  EXPECT_LT(state_.rows().size(), 600u);
}

TEST_F(FleetTest, PoliciesAreComparedBeforeTheyChange) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  const auto dry = fleet_->ApplyPolicies("{name: p, select: all, priority: 1}", true);
  ASSERT_THAT(dry, IsOk());
  EXPECT_EQ(dry->changes(0).kind(), v1::ApplyPoliciesResponse::Change::KIND_CREATED);
  EXPECT_THAT(dry->changes(0).selected_volumes(), ElementsAre("nas-h1: vol1"));
  EXPECT_THAT(fleet_->ListPolicies(), IsEmpty());
  Apply("{name: p, select: all, priority: 1}");
  const auto again = fleet_->ApplyPolicies("{name: p, select: all, priority: 2}", true);
  EXPECT_THAT(again->changes(0).diff(), HasSubstr("-priority: 1\n+priority: 2\n"));
  Restart();
  ASSERT_THAT(fleet_->ListPolicies(), SizeIs(1));
  EXPECT_EQ(fleet_->ListPolicies()[0].volume_count(), 1);
  ASSERT_THAT(fleet_->DeletePolicy("p"), IsOk());
  EXPECT_THAT(fleet_->DeletePolicy("p"), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(FleetTest, StartingIsRepeatable) {
  Worker worker = MakeWorker("h1", {1, 2});
  Sync(worker);
  v1::StartRunsRequest request;
  request.set_selector("host=nas-h1");
  request.set_request_id("once");
  const auto first = fleet_->StartRuns(request);
  const auto second = fleet_->StartRuns(request);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  ASSERT_EQ(first->runs_size(), 2);
  EXPECT_EQ(first->runs(0).run_id(), second->runs(0).run_id());
  EXPECT_THAT(Active(), SizeIs(2));
  EXPECT_EQ(Start("nas-h1:/mnt/vol1").run_id(), first->runs(0).run_id());
  EXPECT_EQ(Start("01000000").run_id(), first->runs(0).run_id());
  request.set_selector("");
  EXPECT_THAT(fleet_->StartRuns(request), HasCode(absl::StatusCode::kInvalidArgument));
  request.set_request_id("");
  request.set_volume("no-such");
  EXPECT_THAT(fleet_->StartRuns(request), HasCode(absl::StatusCode::kNotFound));
}

// Disks may sleep: an idle fleet writes nothing.
TEST_F(FleetTest, IdleFleetWritesNothing) {
  Worker worker = MakeWorker("h1", {1});
  Sync(worker);
  Apply("{name: p, select: all, schedule: '@daily'}");
  Pass(absl::Minutes(2), {&worker});
  state_.FailWrites(absl::InternalError("a write"));
  for (int i = 0; i < 60; ++i) {
    worker.report.mutable_volumes(0)->set_used_bytes(i);
    Pass(absl::Minutes(1), {&worker});
  }
}

}  // namespace
}  // namespace onefold
