#include "cli/metrics/fleet_metrics.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FleetSnapshot Sample() {
  FleetSnapshot snapshot;
  snapshot.version = "1.2";
  snapshot.summary.set_running_count(1);
  v1::Host& host = snapshot.hosts.emplace_back();
  host.set_host_id("h1");
  host.set_display_name("nas1");
  host.set_state(v1::Host::STATE_SILENT);
  v1::Volume& volume = snapshot.volumes.emplace_back();
  volume.set_uuid("u1");
  volume.set_name("data");
  volume.set_host_name("nas1");
  volume.mutable_space()->set_used_bytes(7);
  volume.mutable_space()->set_freed_bytes(5);
  volume.mutable_last_run()->set_state(v1::RUN_STATE_INCOMPLETE);
  v1::ScheduleEntry& entry = *snapshot.past.add_entries();
  entry.set_policy("nightly");
  entry.set_state(v1::ScheduleEntry::STATE_MISSED);
  return snapshot;
}

TEST(FleetMetricsTest, TellsHostsVolumesAndRuns) {
  const std::string text = MetricsText(FleetMetrics(Sample()));
  for (const char* line :
       {"onefold_build_info{version=\"1.2\"} 1\n", "onefold_runs{state=\"running\"} 1\n",
        "onefold_host_up{host=\"nas1\",host_id=\"h1\"} 0\n",
        "onefold_volume_info{uuid=\"u1\",volume=\"data\",host=\"nas1\",host_id=\"\"} 1\n",
        "onefold_volume_used_bytes{uuid=\"u1\"} 7\n",
        "onefold_volume_freed_bytes_total{uuid=\"u1\"} 5\n",
        "onefold_volume_last_run_state{uuid=\"u1\",state=\"incomplete\"} 1\n",
        "onefold_volume_last_run_state{uuid=\"u1\",state=\"completed\"} 0\n",
        "onefold_schedule_missed{policy=\"nightly\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

// A figure that is not known would look like a volume with nothing on it.
TEST(FleetMetricsTest, WhatIsNotKnownIsAbsent) {
  const std::string text = MetricsText(FleetMetrics(Sample()));
  for (const char* name :
       {"onefold_volume_pinned_bytes", "onefold_volume_duplicate_bytes",
        "onefold_volume_next_due_timestamp_seconds", "onefold_host_last_seen_timestamp_seconds",
        "onefold_index_filesystem_avail_bytes"}) {
    EXPECT_THAT(text, Not(HasSubstr(name)));
  }
}

// By the conventions of Prometheus; `promtool check metrics` says more.
TEST(FleetMetricsTest, NamesFollowTheConventions) {
  std::set<std::string> names;
  for (const MetricFamily& family : FleetMetrics(Sample())) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(absl::StartsWith(family.name, "onefold_"));
    EXPECT_FALSE(family.help.empty());
    EXPECT_EQ(family.kind == MetricFamily::Kind::kCounter, absl::EndsWith(family.name, "_total"));
  }
}

}  // namespace
}  // namespace onefold
