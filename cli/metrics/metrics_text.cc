#include "cli/metrics/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

namespace onefold {

std::string MetricsText(const std::vector<MetricFamily>& families) {
  std::vector<prometheus::MetricFamily> converted;
  for (const MetricFamily& family : families) {
    if (family.samples.empty()) continue;
    prometheus::MetricFamily& to = converted.emplace_back();
    const bool counts = family.kind == MetricFamily::Kind::kCounter;
    to.name = family.name;
    to.help = family.help;
    to.type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    for (const MetricFamily::Sample& sample : family.samples) {
      prometheus::ClientMetric& metric = to.metric.emplace_back();
      for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
      (counts ? metric.counter.value : metric.gauge.value) = sample.value;
    }
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, converted);
  return text.str();
}

}  // namespace onefold
