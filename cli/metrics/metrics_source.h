// MetricsSource: asks a coordinator's own services for what Prometheus is told.

#ifndef ONEFOLD_CLI_METRICS_METRICS_SOURCE_H_
#define ONEFOLD_CLI_METRICS_METRICS_SOURCE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/metrics/fleet_metrics.h"
#include "common/clock.h"
#include "common/mutex.h"

namespace grpc {
class Channel;
}

namespace onefold {

// Thread-safe.
class MetricsSource {
 public:
  // Who asks more often gets the same again: figures change slowly, and a volume is looked at each
  // time.
  static constexpr absl::Duration kKeep = absl::Seconds(5);

  struct Options {
    std::string version;
    std::string state_directory;  // its filesystem is the index's
    // The certificate that is shown; unset: none.
    std::function<std::optional<absl::Time>()> certificate_expire_time = {};
  };

  // `clock` must outlive it; so must what is behind `channel`.
  MetricsSource(Options options, std::shared_ptr<grpc::Channel> channel, Clock& clock);
  ~MetricsSource();

  // For /metrics. Of what cannot be asked, nothing is in it.
  std::string Text();

 private:
  FleetSnapshot Take();

  const Options options_;
  const std::shared_ptr<grpc::Channel> channel_;
  Clock& clock_;
  Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  absl::Duration as_of_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

// Writes `text` where node_exporter looks for textfiles: whole or not at all, readable by all.
absl::Status WriteTextfile(const std::string& path, const std::string& text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_METRICS_METRICS_SOURCE_H_
