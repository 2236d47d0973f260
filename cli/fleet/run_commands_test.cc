#include "cli/fleet/run_commands.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "cli/fleet/run_watch.h"
#include "cli/fleet/testing/verb_fixture.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RunCommandsTest : public VerbTest {
 protected:
  void AnswerStarted(const std::vector<v1::Run>& runs, const std::vector<std::string>& refused) {
    v1::StartRunsResponse response;
    for (const v1::Run& run : runs) *response.add_runs() = run;
    for (const std::string& reason : refused) response.add_refused(reason);
    client_.start_runs.Answer(response);
  }
  void Watched(std::vector<v1::Run> runs, absl::Status end = absl::OkStatus()) {
    client_.watches.push_back({std::move(runs), std::move(end)});
  }
};

TEST_F(RunCommandsTest, NowNeedsToKnowWhere) {
  EXPECT_EQ(Run(RunNowVerb(), {}), 1);
  EXPECT_THAT(console_.err, HasSubstr("--selector all"));
  EXPECT_EQ(Run(RunNowVerb(), {"data", "--selector", "all"}), 1);
  EXPECT_THAT(client_.start_runs.requests, IsEmpty());
}

TEST_F(RunCommandsTest, NowAsksForWhatWasSaid) {
  AnswerStarted({SampleRun("11111111", v1::RUN_STATE_WAITING)}, {});
  EXPECT_EQ(Run(RunNowVerb(), {"data", "--dry-run", "--full"}), 0);
  const v1::StartRunsRequest& request = client_.start_runs.requests.at(0);
  EXPECT_EQ(request.volume(), "data");
  EXPECT_EQ(request.selector(), "");
  EXPECT_TRUE(request.dry_run());
  EXPECT_TRUE(request.full());
  EXPECT_EQ(request.request_id(), "request-1");
  EXPECT_THAT(console_.out, HasSubstr("11111111"));
}

TEST_F(RunCommandsTest, NowTellsWhatWasRefused) {
  AnswerStarted({SampleRun("11111111", v1::RUN_STATE_WAITING)}, {"nas2: nothing is allowed"});
  EXPECT_EQ(Run(RunNowVerb(), {"--selector", "all"}), 2);
  EXPECT_THAT(console_.err, HasSubstr("nas2: nothing is allowed"));
}

TEST_F(RunCommandsTest, NowWithoutAnyRunIsNotDone) {
  AnswerStarted({}, {"nas2: nothing is allowed"});
  EXPECT_EQ(Run(RunNowVerb(), {"--selector", "all"}), 1);
}

TEST_F(RunCommandsTest, NowWatchesAll) {
  AnswerStarted({SampleRun("a", v1::RUN_STATE_WAITING), SampleRun("b", v1::RUN_STATE_WAITING)}, {});
  Watched({SampleRun("a", v1::RUN_STATE_COMPLETED)});
  Watched({SampleRun("b", v1::RUN_STATE_INCOMPLETE)});
  EXPECT_EQ(Run(RunNowVerb(), {"--selector", "all", "--watch"}), 2);
  EXPECT_THAT(client_.watched, ElementsAre("a", "b"));
}

TEST_F(RunCommandsTest, WatchShowsEveryChangeOnce) {
  const v1::Run running = SampleRun("abc", v1::RUN_STATE_RUNNING);
  Watched({running, running, SampleRun("abc", v1::RUN_STATE_COMPLETED)});
  EXPECT_EQ(Run(WatchRunVerb(), {"a", "--json"}), 0);
  const std::vector<std::string> lines = absl::StrSplit(console_.out, '\n');
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(json::parse(lines[0])["run"]["state"], "running");
  EXPECT_EQ(json::parse(lines[1])["run"]["state"], "completed");
}

// The coordinator is restarted: the run goes on, and so does who watches it.
TEST_F(RunCommandsTest, WatchOutlivesTheCoordinator) {
  Watched({SampleRun("abc", v1::RUN_STATE_RUNNING)}, absl::UnavailableError("gone"));
  Watched({}, absl::UnavailableError("gone"));
  Watched({}, absl::UnavailableError("gone"));
  Watched({SampleRun("abc", v1::RUN_STATE_RUNNING)}, absl::DeadlineExceededError("long"));
  Watched({SampleRun("abc", v1::RUN_STATE_COMPLETED)});
  EXPECT_EQ(Run(WatchRunVerb(), {"a"}), 0);
  EXPECT_THAT(client_.watched, ElementsAre("a", "abc", "abc", "abc", "abc"));
  EXPECT_EQ(slept_, absl::Seconds(1 + 2 + 4));
  const size_t first = console_.err.find("is away");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(console_.err.find("is away", first + 1), std::string::npos);
}

TEST_F(RunCommandsTest, WatchGivesUpInTheEnd) {
  Watched({SampleRun("abc", v1::RUN_STATE_RUNNING)}, absl::UnavailableError("gone"));
  Watched({}, absl::UnavailableError("gone"));
  EXPECT_EQ(Run(WatchRunVerb(), {"a"}), 1);
  EXPECT_GE(slept_, kWatchPatience);
  EXPECT_LT(slept_, kWatchPatience + absl::Minutes(1));
  EXPECT_THAT(console_.err, HasSubstr("no coordinator answers"));
}

// Nothing was ever seen: waiting would only hide a wrong address.
TEST_F(RunCommandsTest, WatchDoesNotWaitForWhatWasNeverThere) {
  Watched({}, absl::UnavailableError("connection refused"));
  EXPECT_EQ(Run(WatchRunVerb(), {"a"}), 1);
  EXPECT_EQ(slept_, absl::ZeroDuration());
  client_.watches.clear();
  Watched({}, absl::NotFoundError("no run begins with a"));
  EXPECT_EQ(Run(WatchRunVerb(), {"a"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("no run begins with a"));
}

TEST_F(RunCommandsTest, WatchWritesOneLineOnATerminal) {
  console_.terminal = true;
  Watched({SampleRun("abc", v1::RUN_STATE_RUNNING), SampleRun("abc", v1::RUN_STATE_FAILED)});
  EXPECT_EQ(Run(WatchRunVerb(), {"a"}), 1);
  EXPECT_THAT(console_.out, HasSubstr("freed 1.00 MiB\r\x1b[K"));
  EXPECT_THAT(console_.out, HasSubstr("data: failed\n"));
}

TEST_F(RunCommandsTest, ExitCodes) {
  const auto code = [](std::initializer_list<v1::RunState> states) {
    std::vector<v1::Run> runs;
    for (const v1::RunState state : states) runs.push_back(SampleRun("r", state));
    return ExitCodeOf(runs);
  };
  EXPECT_EQ(code({v1::RUN_STATE_COMPLETED, v1::RUN_STATE_COMPLETED}), 0);
  EXPECT_EQ(code({v1::RUN_STATE_COMPLETED, v1::RUN_STATE_FAILED}), 2);
  EXPECT_EQ(code({v1::RUN_STATE_CANCELLED}), 2);
  EXPECT_EQ(code({v1::RUN_STATE_FAILED, v1::RUN_STATE_FAILED}), 1);
}

TEST_F(RunCommandsTest, ListStopsAtTheLimit) {
  v1::ListRunsResponse page;
  for (const char* id : {"11111111", "22222222"}) {
    *page.add_runs() = SampleRun(id, v1::RUN_STATE_RUNNING);
  }
  page.set_next_page_token("more");
  client_.list_runs.Answer(page);
  EXPECT_EQ(Run(ListRunsVerb(), {"--limit", "3", "--active", "--json"}), 0);
  EXPECT_THAT(json::parse(console_.out)["runs"], SizeIs(3));
  ASSERT_THAT(client_.list_runs.requests, SizeIs(2));
  EXPECT_EQ(client_.list_runs.requests[0].page_size(), 3);
  EXPECT_EQ(client_.list_runs.requests[1].page_size(), 1);
  EXPECT_TRUE(client_.list_runs.requests[1].active_only());
  for (const char* limit : {"0", "x", "-1", "1000000"}) {
    EXPECT_EQ(Run(ListRunsVerb(), {"--limit", limit}), 1) << limit;
  }
}

TEST_F(RunCommandsTest, ListKnowsHostsByName) {
  v1::ListRunsResponse page;
  *page.add_runs() = SampleRun("11111111", v1::RUN_STATE_RUNNING);
  client_.list_runs.Answer(page);
  v1::ListHostsResponse hosts;
  *hosts.add_hosts() = SampleHost("host-1", "nas1");
  client_.list_hosts.Answer(hosts);
  EXPECT_EQ(Run(ListRunsVerb(), {}), 0);
  EXPECT_THAT(console_.out, HasSubstr(" nas1 "));
}

TEST_F(RunCommandsTest, CancelPauseResume) {
  v1::CancelRunResponse cancelled;
  *cancelled.mutable_run() = SampleRun("abc", v1::RUN_STATE_CANCELLED);
  client_.cancel_run.Answer(cancelled);
  EXPECT_EQ(Run(CancelRunVerb(), {"ab"}), 0);
  EXPECT_EQ(client_.cancel_run.requests.at(0).run_id(), "ab");
  EXPECT_THAT(console_.out, HasSubstr("cancelled"));
  client_.pause_run.Fail(absl::FailedPreconditionError("it has ended"));
  EXPECT_EQ(Run(PauseRunVerb(), {"ab"}), 1);
  EXPECT_THAT(console_.err, HasSubstr("it has ended"));
  EXPECT_EQ(Run(ResumeRunVerb(), {"ab", "--json"}), 0);
  EXPECT_EQ(json::parse(console_.out)["schema"], "onefold.run_state.v1");
}

}  // namespace
}  // namespace onefold
