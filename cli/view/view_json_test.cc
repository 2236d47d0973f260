#include "cli/view/view_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/fleet/testing/admin_samples.h"

namespace onefold {
namespace {

using Json = nlohmann::json;

TEST(ViewJsonTest, UnknownIsNull) {
  const Json status = Json::parse(StatusJson({}, "/var/lib/onefold", true));
  EXPECT_EQ(status["schema"], "onefold.status.v1");
  EXPECT_EQ(status["served"], false);
  for (const char* figure : {"size_bytes", "used_bytes", "extents", "freed_bytes", "waiting_bytes",
                             "pinned_bytes", "duplicate_bytes", "duplicates_counted_at"}) {
    EXPECT_TRUE(status["space"][figure].is_null()) << figure;
  }
  EXPECT_TRUE(Json::parse(DuplicatesJson({}))["groups_total"].is_null());
  EXPECT_TRUE(Json::parse(OverlapJson({}))["everywhere_bytes"].is_null());
  v1::GetHistoryResponse history;
  history.add_points();
  EXPECT_TRUE(Json::parse(HistoryJson(history))["points"][0]["freed_bytes"].is_null());
}

TEST(ViewJsonTest, Status) {
  v1::GetSummaryResponse summary;
  summary.mutable_total()->set_freed_bytes(0);
  (*summary.mutable_total()->mutable_pinned_by())["snapshots"] = 7;
  *summary.add_active_runs() = SampleRun("run-1", v1::RUN_STATE_RUNNING);
  v1::Attention& attention = *summary.add_attention();
  attention.set_severity(v1::Attention::SEVERITY_ERROR);
  attention.set_volume_uuid(std::string(16, '\x01'));
  summary.add_next()->set_state(v1::ScheduleEntry::STATE_DUE);
  summary.add_hosts()->set_name("nas1");
  const Json status = Json::parse(StatusJson(summary, "nas1:7171", false));
  EXPECT_EQ(status["space"]["freed_bytes"], 0);
  EXPECT_EQ(status["space"]["pinned_by"]["snapshots"], 7);
  EXPECT_EQ(status["active_runs"][0]["run_id"], "run-1");
  EXPECT_EQ(status["attention"][0]["severity"], "error");
  EXPECT_EQ(status["attention"][0]["volume_uuid"], "01010101-0101-0101-0101-010101010101");
  EXPECT_TRUE(status["attention"][0]["run_id"].is_null());
  EXPECT_EQ(status["next"][0]["state"], "due");
  EXPECT_EQ(status["by_host"][0]["name"], "nas1");
}

TEST(ViewJsonTest, Volumes) {
  v1::Volume volume;
  volume.set_uuid("u");
  volume.mutable_mounted()->add_mount_paths("/srv");
  *volume.mutable_last_run() = SampleRun("run-1", v1::RUN_STATE_COMPLETED);
  const Json json = Json::parse(VolumesJson({volume}))["volumes"][0];
  EXPECT_EQ(json["mount_paths"][0], "/srv");
  EXPECT_EQ(json["last_run"]["run_id"], "run-1");
  EXPECT_TRUE(json["active_run"].is_null());
}

// A line is a line.
TEST(ViewJsonTest, HostileNames) {
  v1::Volume volume;
  volume.set_name("a\xff\x1b\n");
  const std::string line = VolumesJson({volume});
  for (const char letter : line) EXPECT_TRUE(letter >= ' ' && letter < '\x7f');
}

TEST(ViewJsonTest, Duplicates) {
  v1::ListDuplicatesResponse duplicates;
  v1::DuplicateGroup& group = *duplicates.add_groups();
  group.set_digest(0xff);
  group.set_copy_count(3);
  const Json json = Json::parse(DuplicatesJson(duplicates))["groups"][0];
  EXPECT_EQ(json["digest"], "00000000000000ff");
  EXPECT_EQ(json["copies"], 3);
}

}  // namespace
}  // namespace onefold
