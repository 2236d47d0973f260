#include "cli/fleet/admin_text.h"

#include <limits>

#include "cli/fleet/testing/admin_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(kSampleSeconds);

TEST(AdminTextTest, HostsAndTheirVolumes) {
  v1::Host host = SampleHost("host-1", "nas1");
  v1::MountedVolume& second = *host.add_volumes();
  second.set_volume_uuid(std::string(16, '\x02'));
  second.add_mount_paths("/backup");
  host.add_advice("add to /etc/onefold/worker.yaml: allow: [/backup]");
  EXPECT_EQ(HostsText({host}, kNow, 0),
            "HOST  STATE      SEEN      VERSION  VOLUME    MOUNTED AT  USED                   "
            "MAY TOUCH\n"
            "nas1  connected  30 s ago  0.1.0    data      /srv        512.0 GiB of 1.00 TiB  "
            "/srv/home\n"
            "                                    02020202  /backup     0 B of 0 B             "
            "nothing\n"
            "nas1: add to /etc/onefold/worker.yaml: allow: [/backup]\n");
}

TEST(AdminTextTest, EmptyListsSayWhatToType) {
  EXPECT_THAT(HostsText({}, kNow, 0), HasSubstr("onefold fleet token create"));
  EXPECT_THAT(PoliciesText({}, kNow, 0), HasSubstr("onefold policy apply"));
}

TEST(AdminTextTest, TroubleAndDrainedHosts) {
  v1::Host host = SampleHost("host-1", "nas1");
  host.set_state(v1::Host::STATE_SILENT);
  host.set_drained(true);
  host.mutable_volumes(0)->set_trouble("mounted read-only");
  host.clear_last_seen_time();
  const std::string text = HostsText({host}, kNow, 0);
  EXPECT_THAT(text, HasSubstr("silent, drained"));
  EXPECT_THAT(text, HasSubstr("mounted read-only"));
  EXPECT_THAT(text, HasSubstr("never"));
}

TEST(AdminTextTest, Changes) {
  v1::ApplyPoliciesResponse changes;
  auto& change = *changes.add_changes();
  change.set_name("nightly");
  change.set_kind(v1::ApplyPoliciesResponse::Change::KIND_CHANGED);
  change.set_diff(" name: nightly\n-select: all\n+select: \x1b[2J\n");
  change.add_selected_volumes("nas1: data");
  EXPECT_EQ(PolicyChangesText(changes),
            "nightly: changed\n"
            "   name: nightly\n"
            "  -select: all\n"
            "  +select: \\x1b[2J\n"
            "  Volumes:\n"
            "    nas1: data\n");
}

TEST(AdminTextTest, RunIdsAreAsLongAsTheyMustBe) {
  const auto length = [](std::initializer_list<const char*> ids) {
    std::vector<v1::Run> runs;
    for (const char* id : ids) runs.push_back(SampleRun(id, v1::RUN_STATE_WAITING));
    return RunIdLength(runs);
  };
  EXPECT_EQ(length({}), 8u);
  EXPECT_EQ(length({"0123456789a", "1123456789a"}), 8u);
  EXPECT_EQ(length({"0123456789a", "0123456789b"}), 11u);
  EXPECT_EQ(length({"0123456789", "0123456789b"}), 11u);
}

TEST(AdminTextTest, Runs) {
  v1::Run waits = SampleRun("22222222-2", v1::RUN_STATE_WAITING);
  waits.set_waits_for("its window");
  waits.set_policy("nightly");
  const std::string text = RunsText({SampleRun("11111111-1", v1::RUN_STATE_RUNNING), waits},
                                    {{"host-1", "nas1"}}, kNow, 0);
  EXPECT_THAT(text, HasSubstr("11111111  running  data    nas1  by hand  1 min 0 s ago  "
                              "fold 43 %, freed 1.00 MiB"));
  EXPECT_THAT(text, HasSubstr("nightly"));
  EXPECT_THAT(text, HasSubstr("waits: its window"));
}

TEST(AdminTextTest, WhatHoldsARunUp) {
  v1::Run run = SampleRun("r", v1::RUN_STATE_RUNNING);
  run.mutable_status()->set_message("tried again soon");
  EXPECT_EQ(RunLine(run), "data: fold 43 %, freed 1.00 MiB (tried again soon)");
  run.mutable_status()->set_throttled_by("load 9.1 is above 4");
  EXPECT_EQ(RunLine(run), "data: fold 43 %, freed 1.00 MiB (load 9.1 is above 4)");
}

// What a worker tells may be anything.
TEST(AdminTextTest, OddFractions) {
  v1::Run run = SampleRun("r", v1::RUN_STATE_RUNNING);
  for (const double fraction : {-1.0, 2e300, std::numeric_limits<double>::quiet_NaN()}) {
    run.mutable_status()->set_phase_fraction(fraction);
    EXPECT_THAT(RunLine(run), HasSubstr(" %"));
    EXPECT_THAT(RunLine(run), Not(HasSubstr("-")));
  }
}

TEST(AdminTextTest, TheEndOfARun) {
  v1::Run run = SampleRun("r", v1::RUN_STATE_INCOMPLETE);
  run.mutable_status()->mutable_figures()->set_bytes_pinned(4096);
  v1::RunProblem& problem = *run.mutable_status()->add_problems();
  problem.set_path("/srv/a\nb");
  problem.set_reason("read error");
  run.mutable_status()->set_problem_count(3);
  EXPECT_EQ(RunEndText(run),
            "data: incomplete\n"
            "  freed       1.00 MiB on disk\n"
            "  shared      an unknown amount of files\n"
            "  pinned      4.00 KiB have a copy, but giving them up would free nothing now\n"
            "  problem     /srv/a\\nb: read error\n"
            "  and 2 problems more\n");
}

TEST(AdminTextTest, TheEndOfADryRun) {
  v1::Run run = SampleRun("r", v1::RUN_STATE_COMPLETED);
  run.set_dry_run(true);
  run.mutable_status()->mutable_figures()->set_bytes_expected(2 << 20);
  EXPECT_THAT(RunEndText(run), HasSubstr("would free  2.00 MiB"));
  EXPECT_THAT(RunEndText(run), Not(HasSubstr("shared")));
}

TEST(AdminTextTest, When) {
  EXPECT_EQ(WhenText(kNow - absl::Seconds(30), kNow), "30 s ago");
  EXPECT_EQ(WhenText(kNow + absl::Hours(2), kNow), "in 2 h 0 min");
  EXPECT_EQ(WhenText(absl::InfinitePast(), kNow), "never");
}

}  // namespace
}  // namespace onefold
