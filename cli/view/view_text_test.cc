#include "cli/view/view_text.h"

#include <limits>

#include "cli/fleet/testing/admin_samples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ViewStyle kPlain = {.now = absl::FromUnixSeconds(kSampleSeconds)};
const ViewStyle kTerminal = {
    .now = absl::FromUnixSeconds(kSampleSeconds), .cell_columns_max = 30, .colour = true};
constexpr char kHostile[] = "\x1b]0;x\x07\n";

v1::GetSummaryResponse Summary() {
  v1::GetSummaryResponse summary;
  summary.set_version("1.0.0");
  summary.set_volume_count(3);
  summary.set_host_count(2);
  summary.set_connected_host_count(1);
  v1::SpaceFigures& total = *summary.mutable_total();
  total.set_size_bytes(int64_t{4} << 40);
  total.set_used_bytes(int64_t{1} << 40);
  total.set_freed_bytes(int64_t{12} << 30);
  total.set_freed_at_least(true);
  total.set_waiting_bytes(3 << 20);
  total.set_pinned_bytes(6 << 20);
  (*total.mutable_pinned_by())["read-only"] = 1 << 20;
  (*total.mutable_pinned_by())["snapshots"] = 5 << 20;
  summary.set_running_count(1);
  summary.set_waiting_count(2);
  *summary.add_active_runs() = SampleRun("run-1", v1::RUN_STATE_RUNNING);
  v1::ScheduleEntry& entry = *summary.add_next();
  entry.mutable_due_time()->set_seconds(kSampleSeconds + 7200);
  entry.set_policy("nightly");
  entry.set_volume_count(3);
  v1::Attention& attention = *summary.add_attention();
  attention.set_severity(v1::Attention::SEVERITY_WARNING);
  attention.set_kind("host-silent");
  attention.set_text("nas2 is silent");
  summary.set_attention_count(1);
  return summary;
}

TEST(ViewTextTest, StatusIsOneScreen) {
  EXPECT_EQ(StatusText(Summary(), "nas1:7171", false, kPlain),
            "onefold   nas1:7171, version 1.0.0\n"
            "Health    1 thing to look at, the worst: warning\n"
            "Hosts     2, 1 connected\n"
            "Volumes   3, used 1.00 TiB of 4.00 TiB\n"
            "Freed     at least 12.0 GiB\n"
            "Waits     3.00 MiB of new data for a run\n"
            "Copies    -\n"
            "Pinned    6.00 MiB: snapshots 5.00 MiB, read-only 1.00 MiB\n"
            "Runs      1 running, 2 waiting\n"
            "  data: fold 43 %, freed 1.00 MiB\n"
            "  and 2 more\n"
            "Next\n"
            "  in 2 h 0 min: nightly on 3 volumes\n"
            "Look at\n"
            "  warning: nas2 is silent\n");
}

// A figure that nobody knows is no 0.
TEST(ViewTextTest, UnknownIsADash) {
  const std::string status = StatusText({}, "/var/lib/onefold", true, kPlain);
  EXPECT_THAT(status, HasSubstr("Freed     -\nWaits     - of new data"));
  EXPECT_THAT(status, HasSubstr("used -\n"));
  EXPECT_THAT(status, HasSubstr("(no process serves it)"));
  EXPECT_THAT(status, HasSubstr("nothing is wrong"));
  EXPECT_THAT(VolumesText({v1::Volume()}, kPlain), Not(HasSubstr("0 B")));
  v1::GetHistoryResponse history;
  history.add_points()->mutable_time()->set_seconds(kSampleSeconds);
  EXPECT_THAT(HistoryText(history, kPlain),
              HasSubstr("2001-09-09T01:46:40Z  -     -      -      -\n"));
  EXPECT_THAT(DuplicatesText({}, kPlain), HasSubstr("not counted yet"));
  EXPECT_THAT(OverlapText({}, kPlain), HasSubstr("not computed yet"));
}

TEST(ViewTextTest, ColourOnlyWhereItIsWanted) {
  EXPECT_THAT(StatusText(Summary(), "x", false, kPlain), Not(HasSubstr("\x1b")));
  EXPECT_THAT(StatusText(Summary(), "x", false, kTerminal),
              HasSubstr("  \x1b[33mwarning\x1b[0m: nas2"));
}

TEST(ViewTextTest, Volumes) {
  v1::Volume volume;
  volume.set_name("data");
  volume.set_uuid("01010101-0101-0101-0101-010101010101");
  volume.set_host_name("nas1");
  volume.mutable_space()->set_freed_bytes(1 << 20);
  volume.mutable_last_run()->mutable_end_time()->set_seconds(kSampleSeconds - 60);
  volume.set_trouble("mounted read-only");
  EXPECT_EQ(VolumesText({volume}, kPlain),
            "VOLUME  UUID      HOST  USED  FREED     WAITS  COPIES  PINNED  LAST RUN       NEXT\n"
            "data    01010101  nas1  -     1.00 MiB  -      -       -       1 min 0 s ago  -\n"
            "data: mounted read-only\n");
}

// Names come from anywhere: none steers a terminal or forges a line.
TEST(ViewTextTest, HostileNames) {
  v1::GetSummaryResponse summary = Summary();
  summary.set_version(kHostile);
  summary.mutable_next(0)->set_policy(kHostile);
  summary.mutable_attention(0)->set_text(kHostile);
  summary.mutable_active_runs(0)->set_volume_name(kHostile);
  (*summary.mutable_total()->mutable_pinned_by())[kHostile] = 1;
  v1::Volume volume;
  volume.set_name(kHostile);
  volume.set_uuid(kHostile);
  volume.set_trouble(kHostile);
  v1::GetOverlapResponse overlap;
  overlap.mutable_time()->set_seconds(kSampleSeconds);
  overlap.add_members()->set_name(kHostile);
  v1::GetRunResponse run;
  *run.mutable_run() = SampleRun(kHostile, v1::RUN_STATE_RUNNING);
  for (const std::string& text :
       {StatusText(summary, kHostile, false, kPlain), VolumesText({volume}, kPlain),
        OverlapText(overlap, kPlain), RunText(run, {}, kPlain)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
    EXPECT_THAT(text, HasSubstr("\\x1b]0;x"));
  }
}

v1::GetOverlapResponse Overlap(int member_count) {
  v1::GetOverlapResponse overlap;
  overlap.mutable_time()->set_seconds(kSampleSeconds - 60);
  for (int i = 0; i < member_count; ++i) {
    auto& member = *overlap.add_members();
    member.set_name("v" + std::to_string(i));
    member.set_host_name("nas");
    member.set_distinct_bytes(1024);
  }
  auto& pair = *overlap.add_pairs();
  pair.set_first(0);
  pair.set_second(1);
  pair.set_shared_bytes(512);
  return overlap;
}

TEST(ViewTextTest, OverlapOfFewIsAMatrix) {
  const std::string text = OverlapText(Overlap(3), kPlain);
  EXPECT_THAT(text, HasSubstr("[1]  nas:v0  1.00 KiB  0 B     .      512 B  0 B\n"));
  EXPECT_THAT(text, HasSubstr("[2]  nas:v1  1.00 KiB  0 B     512 B  .      0 B\n"));
  v1::GetOverlapResponse truncated = Overlap(3);
  truncated.set_truncated(true);  // whether they share anything is not known
  EXPECT_THAT(OverlapText(truncated, kPlain), HasSubstr("512 B  -\n"));
}

TEST(ViewTextTest, OverlapOfManyIsPairs) {
  v1::GetOverlapResponse overlap = Overlap(20);
  overlap.add_pairs()->set_second(std::numeric_limits<int32_t>::max());  // no such member
  EXPECT_EQ(OverlapText(overlap, kPlain),
            "VOLUME  AND     SHARED\n"
            "nas:v0  nas:v1  512 B\n"
            "Computed 1 min 0 s ago.\n");
}

}  // namespace
}  // namespace onefold
