// Figures in the text format of Prometheus. The only file pair that knows the library that writes
// it.

#ifndef ONEFOLD_CLI_METRICS_METRICS_TEXT_H_
#define ONEFOLD_CLI_METRICS_METRICS_TEXT_H_

#include <string>
#include <utility>
#include <vector>

namespace onefold {

// What is counted under one name.
struct MetricFamily {
  enum class Kind { kGauge, kCounter };
  struct Sample {
    std::vector<std::pair<std::string, std::string>> labels = {};
    double value = 0;
  };

  std::string name;  // "onefold_…", with its unit; counters end in "_total"
  std::string help;
  Kind kind = Kind::kGauge;
  std::vector<Sample> samples = {};
};

// "text/plain; version=0.0.4". Families without samples are left out.
std::string MetricsText(const std::vector<MetricFamily>& families);

}  // namespace onefold

#endif  // ONEFOLD_CLI_METRICS_METRICS_TEXT_H_
