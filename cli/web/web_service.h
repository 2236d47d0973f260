// WebService: the web page of a coordinator: its files, signing in, and the services as JSON.
//
//   /                      the page                       everybody
//   /api/v1/sign-in        POST {"token"}: a cookie       who has a token
//   /api/v1/sign-out       POST                           everybody
//   /api/v1/session        who one is                     who has signed in
//   /api/v1/SERVICE/…      see json_gateway.h             by role
//   /healthz               "ok"                           everybody
//   /metrics               for Prometheus                 WebOptions::metrics_for
//
// On loopback without TLS; elsewhere with it, always.

#ifndef ONEFOLD_CLI_WEB_WEB_SERVICE_H_
#define ONEFOLD_CLI_WEB_WEB_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/web/web_options.h"
#include "common/clock.h"
#include "common/log.h"
#include "coordinator/identity/identity.h"

namespace grpc {
class Channel;
}

namespace onefold {

class WebService {
 public:
  struct Options {
    WebOptions web;  // `listen` is needed
    // Further names of this machine, for links and for who may ask; the first one is the best.
    std::vector<std::string> names = {};
    std::string version = {};
  };
  // The text for Prometheus.
  using Metrics = std::function<std::string()>;

  // `identity`, `clock` and `log` must outlive the service; so must what is behind `channel`.
  // Errors: see HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<WebService>> Start(const Options& options,
                                                           Identity& identity,
                                                           std::shared_ptr<grpc::Channel> channel,
                                                           Metrics metrics, Clock& clock, Log& log);

  // Ends streams and stops.
  virtual ~WebService() = default;

  // "https://nas1.example:7180"
  virtual const std::string& page_address() const = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_WEB_SERVICE_H_
