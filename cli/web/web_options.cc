#include "cli/web/web_options.h"

namespace onefold {

WebOptions WebOptionsOf(const Config& config) {
  const std::string& listen = config.Text("web_listen");
  const std::string& metrics = config.Text("metrics_for");
  return {.listen = listen == "off" ? "" : listen,
          .page_address = config.Text("web_address"),
          .identity_file = config.Text("web_certificate"),
          .loopback_role = ParseRole(config.Text("web_loopback_role")),
          .metrics_for = metrics == "nobody"      ? WebOptions::MetricsFor::kNobody
                         : metrics == "everybody" ? WebOptions::MetricsFor::kEverybody
                                                  : WebOptions::MetricsFor::kLoopback};
}

}  // namespace onefold
