#include "cli/metrics/metrics_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

TEST(MetricsTextTest, IsWhatPrometheusReads) {
  const std::string text = MetricsText({
      {.name = "onefold_a_bytes",
       .help = "A.",
       .samples = {{.labels = {{"uuid", "x"}}, .value = 3}}},
      {.name = "onefold_b_total",
       .help = "B.",
       .kind = MetricFamily::Kind::kCounter,
       .samples = {{.labels = {}, .value = 9007199254740992}}},
      {.name = "onefold_c", .help = "nothing is known of it"},
  });
  EXPECT_EQ(text,
            "# HELP onefold_a_bytes A.\n"
            "# TYPE onefold_a_bytes gauge\n"
            "onefold_a_bytes{uuid=\"x\"} 3\n"
            "# HELP onefold_b_total B.\n"
            "# TYPE onefold_b_total counter\n"
            "onefold_b_total 9007199254740992\n");
}

// Names are what people and hosts make of them.
TEST(MetricsTextTest, HostileLabelsStayLabels) {
  const std::string text = MetricsText(
      {{.name = "onefold_a", .help = "A.", .samples = {{.labels = {{"host", "a\"\n\\b 1\n"}}}}}});
  EXPECT_THAT(text, ::testing::HasSubstr(R"(onefold_a{host="a\"\n\\b 1\n"} 0)"));
}

}  // namespace
}  // namespace onefold
