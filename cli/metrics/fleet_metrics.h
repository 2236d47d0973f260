// What a coordinator tells Prometheus: the figures of its fleet, by host and by volume. Pure.
//
// Labels are bounded by the number of hosts, volumes and policies; no paths, no runs. `uuid` is the
// one of node_exporter's node_btrfs_* metrics, so that both can be joined.

#ifndef ONEFOLD_CLI_METRICS_FLEET_METRICS_H_
#define ONEFOLD_CLI_METRICS_FLEET_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/metrics/metrics_text.h"
#include "onefold/v1/fleet.pb.h"
#include "onefold/v1/query_service.pb.h"

namespace onefold {

// A moment of a fleet.
struct FleetSnapshot {
  std::string version;
  absl::Time now;
  v1::GetSummaryResponse summary;
  std::vector<v1::Volume> volumes;
  std::vector<v1::Host> hosts;
  // The last day's.
  v1::ListScheduleResponse past;
  // Of the filesystem that the index lies on.
  std::optional<int64_t> index_size_bytes;
  std::optional<int64_t> index_free_bytes;
  // Of the certificate that the coordinator shows.
  std::optional<absl::Time> certificate_expire_time;
};

std::vector<MetricFamily> FleetMetrics(const FleetSnapshot& snapshot);

}  // namespace onefold

#endif  // ONEFOLD_CLI_METRICS_FLEET_METRICS_H_
