// A request and its answer, as the parts of the web page see them. Values; no library behind them.

#ifndef ONEFOLD_CLI_WEB_HTTP_MESSAGE_H_
#define ONEFOLD_CLI_WEB_HTTP_MESSAGE_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace onefold {

struct HttpRequest {
  std::string method;  // "GET", "POST"; HEAD comes as GET
  std::string path;    // decoded, without what follows the '?'
  // Names in lower case; of a header that came twice, what came first.
  std::map<std::string, std::string, std::less<>> headers;
  std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded
  std::string body;
  std::string peer;  // the address it comes from, without a port

  // Empty if it is absent.
  absl::string_view Header(absl::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? absl::string_view() : absl::string_view(found->second);
  }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};

  // Instead of `body`: called on a thread of its own request with a function that sends a piece and
  // says whether there is still somebody who reads. Returns when the answer is complete.
  using Send = std::function<bool(absl::string_view piece)>;
  std::function<void(const Send& send)> stream = {};
};

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_HTTP_MESSAGE_H_
