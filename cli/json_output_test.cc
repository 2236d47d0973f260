#include "cli/json_output.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

VolumeReport Volume() {
  VolumeReport volume;
  volume.uuid = "0102";
  volume.mount = "/srv";
  volume.incremental = true;
  volume.counters.extents_scanned = 7;
  volume.counters.bytes_freed = 4096;
  volume.counters.bytes_pinned = 100;
  volume.counters.pinned_by = {{"snapshot", 100}};
  volume.counters.skipped = {{"no_checksums", 3}};
  volume.scan_seconds = 0.25;
  volume.plan_seconds = 0.5;
  volume.execute_seconds = 1.0;
  return volume;
}

RunSummary Summary() {
  RunSummary summary;
  summary.report.run_id = "run-1";
  summary.report.started_at = absl::FromUnixSeconds(1'000'000'000);
  summary.report.elapsed = absl::Milliseconds(1234);
  summary.report.volumes = {Volume(), Volume()};
  return summary;
}

json Parsed(const RunSummary& summary) { return json::parse(RunJson(summary)); }

TEST(RunJsonTest, HasEveryFieldThatIsPromised) {
  const json run = Parsed(Summary());
  EXPECT_EQ(run["schema"], "onefold.run.v1");
  EXPECT_EQ(run["run_id"], "run-1");
  EXPECT_EQ(run["outcome"], "completed");
  EXPECT_EQ(run["dry_run"], false);
  EXPECT_EQ(run["started_at"], "2001-09-09T01:46:40.000Z");
  EXPECT_EQ(run["elapsed_seconds"], 1.234);
  EXPECT_EQ(run["phases"]["scan_seconds"], 0.5);
  EXPECT_EQ(run["phases"]["plan_seconds"], 1.0);
  EXPECT_EQ(run["phases"]["execute_seconds"], 2.0);
  ASSERT_EQ(run["volumes"].size(), 2u);
  for (const json& part : {run["volumes"][0], run["totals"]}) {
    for (const char* field :
         {"extents_total", "extents_scanned", "bytes_scanned", "file_bytes_read", "dedupe_requests",
          "bytes_shared", "bytes_freed", "bytes_written", "bytes_pinned", "pinned_by",
          "metadata_bytes_grown", "skipped"}) {
      EXPECT_TRUE(part.contains(field)) << field;
    }
  }
  for (const char* field : {"uuid", "mount", "incremental", "problems", "problems_total"}) {
    EXPECT_TRUE(run["volumes"][0].contains(field)) << field;
  }
}

// A 0 that means "not known" ends up in somebody's spreadsheet.
TEST(RunJsonTest, UnknownIsNull) {
  const json run = Parsed(Summary());
  EXPECT_TRUE(run["volumes"][0]["bytes_shared"].is_null());
  EXPECT_TRUE(run["totals"]["bytes_shared"].is_null());
  EXPECT_TRUE(run["lifetime"].is_null());
}

TEST(RunJsonTest, TotalsAreSumsAndUnknownIfAPartIs) {
  RunSummary summary = Summary();
  EXPECT_EQ(Parsed(summary)["totals"]["bytes_freed"], 8192);
  EXPECT_EQ(Parsed(summary)["totals"]["pinned_by"]["snapshot"], 200);
  EXPECT_EQ(Parsed(summary)["totals"]["skipped"]["no_checksums"], 6);
  summary.report.volumes[1].counters.bytes_freed.reset();
  EXPECT_TRUE(Parsed(summary)["totals"]["bytes_freed"].is_null());
}

TEST(RunJsonTest, ARefusedRunIsOneObjectToo) {
  RunSummary summary;
  summary.report.outcome = RunOutcome::kRefused;
  summary.message = "no";
  const json run = Parsed(summary);
  EXPECT_EQ(run["outcome"], "refused");
  EXPECT_EQ(run["message"], "no");
  EXPECT_EQ(run["volumes"].size(), 0u);
  EXPECT_EQ(run["totals"]["bytes_freed"], 0);
}

TEST(RunJsonTest, BigNumbersStayExact) {
  RunSummary summary = Summary();
  summary.report.volumes.resize(1);
  summary.report.volumes[0].counters.bytes_freed = (int64_t{1} << 53) + 1;
  EXPECT_THAT(RunJson(summary), HasSubstr("\"bytes_freed\":9007199254740993"));
}

// Names of files are bytes: no name may break the document or be lost in it.
TEST(RunJsonTest, NamesThatAreNoTextKeepTheirBytes) {
  RunSummary summary = Summary();
  summary.report.volumes[0].problems = {{"read error", "/srv/caf\xe9\x1b[2J\n", "sad \"face\""}};
  summary.report.volumes[0].problems_total = 1;
  const json run = Parsed(summary);
  const json& problem = run["volumes"][0]["problems"][0];
  EXPECT_EQ(problem["path"], "/srv/caf\ufffd\x1b[2J\n");
  EXPECT_EQ(problem["path_bytes"], "2f7372762f636166e91b5b324a0a");
  EXPECT_EQ(problem["detail"], "sad \"face\"");
  EXPECT_FALSE(problem.contains("detail_bytes"));
}

TEST(RunJsonTest, IsOneLineOfAscii) {
  RunSummary summary = Summary();
  summary.report.volumes[0].mount = "/s\u009b\u2028\u202e\x7f é\n";
  for (const char c : RunJson(summary)) {
    EXPECT_GE(c, 0x20);
    EXPECT_NE(c, 0x7f);
  }
  EXPECT_EQ(Parsed(summary)["volumes"][0]["mount"], summary.report.volumes[0].mount);
}

TEST(ProgressJsonTest, UnknownIsNull) {
  ProgressView view;
  view.now.phase = Progress::Phase::kScanning;
  view.elapsed = absl::Milliseconds(1500);
  const json start = json::parse(ProgressJson(view));
  EXPECT_EQ(start["schema"], "onefold.progress.v1");
  EXPECT_EQ(start["phase"], "scanning");
  EXPECT_EQ(start["elapsed_seconds"], 1.5);
  EXPECT_TRUE(start["total_bytes"].is_null());
  EXPECT_TRUE(start["seconds_left"].is_null());

  view.done_bytes = 5;
  view.total_bytes = 10;
  view.bytes_per_second = 1;
  view.left = absl::Seconds(5);
  const json later = json::parse(ProgressJson(view));
  EXPECT_EQ(later["done_bytes"], 5);
  EXPECT_EQ(later["seconds_left"], 5.0);
}

TEST(MessageJsonTest, IsOneLine) {
  EXPECT_EQ(MessageJson("a \"b\""), R"({"schema":"onefold.message.v1","text":"a \"b\""})");
}

}  // namespace
}  // namespace onefold
