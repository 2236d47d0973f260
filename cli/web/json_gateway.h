// JsonGateway: the services of people as JSON over HTTP.
//
//   GET  /api/v1/SERVICE/METHOD?field=value…    what only looks; streams as server-sent events
//   POST /api/v1/SERVICE/METHOD                 anything but streams; the body is the request
//
// Requests and answers are protobuf's JSON mapping of the messages of proto/onefold/v1: fields in
// lowerCamelCase, 64-bit numbers as strings, bytes in base64, what is not known absent. The same
// service answers that answers gRPC, and the same table says who may call what.

#ifndef ONEFOLD_CLI_WEB_JSON_GATEWAY_H_
#define ONEFOLD_CLI_WEB_JSON_GATEWAY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/web/http_message.h"
#include "coordinator/identity/caller.h"

namespace google::protobuf {
class MethodDescriptor;
}
namespace grpc {
class Channel;
}

namespace onefold {

// Thread-safe.
class JsonGateway {
 public:
  // Each holds a thread.
  static constexpr int kStreamsMax = 20;
  // A stream ends then, and the browser begins the next one, with its session looked at anew.
  static constexpr absl::Duration kStreamMax = absl::Minutes(5);

  // `channel` reaches the services of this process, which believe the caller: who may call what is
  // decided here.
  explicit JsonGateway(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}

  // `method`: "AdminService/ListHosts".
  HttpResponse Handle(absl::string_view method, const HttpRequest& request, const Caller& caller);

  // Ends all streams soon, and those that are still begun.
  void EndStreams() { ending_ = true; }

 private:
  HttpResponse Call(const google::protobuf::MethodDescriptor& method, const std::string& request);
  HttpResponse Stream(const google::protobuf::MethodDescriptor& method, std::string request);
  void Relay(const google::protobuf::MethodDescriptor& method, const std::string& request,
             const HttpResponse::Send& send);

  const std::shared_ptr<grpc::Channel> channel_;
  std::atomic<int> streams_{0};
  std::atomic<bool> ending_{false};
};

// A method that is reachable over HTTP, or nullptr.
const google::protobuf::MethodDescriptor* FindWebMethod(absl::string_view method);
// Whether it only looks.
bool OnlyLooks(const google::protobuf::MethodDescriptor& method);

// The serialised request: from the parameters of a GET, or the body of a POST.
// INVALID_ARGUMENT: the message says where.
absl::StatusOr<std::string> RequestBytes(const google::protobuf::MethodDescriptor& method,
                                         const HttpRequest& request);

// An answer that says what was wrong.
HttpResponse ErrorResponse(const absl::Status& status);

}  // namespace onefold

#endif  // ONEFOLD_CLI_WEB_JSON_GATEWAY_H_
