// How the web page is served, as it is configured.

#ifndef ONEFOLD_CLI_WEB_WEB_OPTIONS_H_
#define ONEFOLD_CLI_WEB_WEB_OPTIONS_H_

#include <string>

#include "common/config/config.h"
#include "coordinator/identity/caller.h"

namespace onefold {

struct WebOptions {
  enum class MetricsFor { kNobody, kLoopback, kEverybody };

  // IP:PORT; empty: no web page.
  std::string listen = {};
  // What people type; empty: made of `listen`.
  std::string page_address = {};
  // What is shown beyond loopback: PEM with key and certificates. Empty: the fleet's.
  std::string identity_file = {};
  // Who has not signed in is that, where the page is served on loopback. kNone: nobody.
  Role loopback_role = Role::kNone;
  MetricsFor metrics_for = MetricsFor::kLoopback;
};

// Of a configuration with WebSettings (cli/settings.cc).
WebOptions WebOptionsOf(const Config& config);

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_WEB_OPTIONS_H_
