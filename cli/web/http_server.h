// HttpServer: HTTP/1.1 on one address, with or without TLS; the only file pair that knows the
// library that speaks it.
//
// A request has a thread while it is answered. All is bounded: threads, connections that wait,
// lengths, and the time a peer may take for anything.

#ifndef ONEFOLD_CLI_WEB_HTTP_SERVER_H_
#define ONEFOLD_CLI_WEB_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/web/http_message.h"

namespace onefold {

class HttpServer {
 public:
  static constexpr size_t kBodyBytesMax = size_t{2} << 20;  // a policy has 1 MiB
  static constexpr int kThreadCount = 32;

  struct Options {
    std::string host;
    int port = 0;  // 0: any
    // PEM with key, certificate and chain; empty: plain text. Read again when it changes.
    std::string identity_file = {};
  };
  // Called by many threads at a time; must not throw.
  using Handler = std::function<HttpResponse(const HttpRequest& request)>;

  // UNAVAILABLE          the address cannot be listened on.
  // FAILED_PRECONDITION  `identity_file` holds no key and certificate that belong together.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Options& options, Handler handler);

  // Stops, and waits for answers under way: whoever streams must have been told to end.
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_HTTP_SERVER_H_
