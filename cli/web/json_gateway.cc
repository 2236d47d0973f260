#include "cli/web/json_gateway.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "cli/fleet/admin_json.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "coordinator/identity/access_table.h"
#include "onefold/v1/admin_service.pb.h"

namespace onefold {
namespace {

namespace pb = google::protobuf;

// A person waits in front of it.
constexpr absl::Duration kCallMax = absl::Seconds(30);
// How soon a stream notices that it should end.
constexpr absl::Duration kStreamStep = absl::Milliseconds(500);
// Steps between signs of life, by which a reader that is gone is noticed.
constexpr int kStepsPerSignOfLife = 20;

constexpr char kQueryService[] = "onefold.v1.QueryService";
constexpr char kAdminService[] = "onefold.v1.AdminService";
// What the page needs of AdminService. Tokens, people and what takes something away for good are
// for the command line.
constexpr absl::string_view kAdminMethods[] = {
    "ListHosts", "ListPolicies", "ListRuns",  "WatchRun",   "StartRuns",     "CancelRun",
    "PauseRun",  "ResumeRun",    "DrainHost", "ResumeHost", "ApplyPolicies",
};

std::string WireName(const pb::MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

std::chrono::system_clock::time_point From(absl::Duration span) {
  return std::chrono::system_clock::now() + absl::ToChronoMicroseconds(span);
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<std::string> ToJson(const pb::Descriptor& type, grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return absl::InternalError("an answer could not be read");
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  const pb::Message* const prototype = pb::MessageFactory::generated_factory()->GetPrototype(&type);
  const std::unique_ptr<pb::Message> message(prototype->New());
  if (!message->ParseFromString(bytes)) return absl::InternalError("an answer is malformed");
  pb::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto printed = pb::util::MessageToJsonString(*message, &json, options);
  if (!printed.ok()) return absl::InternalError(printed.ToString());
  return json;
}

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return 400;
    case absl::StatusCode::kUnauthenticated: return 401;
    case absl::StatusCode::kPermissionDenied: return 403;
    case absl::StatusCode::kNotFound: return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted: return 409;
    case absl::StatusCode::kResourceExhausted: return 429;
    case absl::StatusCode::kUnimplemented: return 501;
    case absl::StatusCode::kUnavailable: return 503;
    case absl::StatusCode::kDeadlineExceeded: return 504;
    default: return 500;
  }
}

// A parameter's value as JSON: protobuf reads numbers, times and enums from texts, but no booleans.
nlohmann::json ValueOf(const pb::FieldDescriptor* field, const std::string& text) {
  if (field != nullptr && field->type() == pb::FieldDescriptor::TYPE_BOOL) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
  }
  return text;
}

const pb::FieldDescriptor* FindField(const pb::Descriptor& type, const std::string& name) {
  const pb::FieldDescriptor* const field = type.FindFieldByCamelcaseName(name);
  return field != nullptr ? field : type.FindFieldByName(name);
}

// {"pageSize": "10"} of ?pageSize=10; a dot leads into a message, a repeated field may come again.
absl::StatusOr<std::string> JsonOfParameters(const pb::Descriptor& type,
                                             const HttpRequest& request) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : request.parameters) {
    const pb::Descriptor* in = &type;
    nlohmann::json* place = &json;
    const pb::FieldDescriptor* field = nullptr;
    for (const absl::string_view part : absl::StrSplit(name, '.')) {
      field = in == nullptr ? nullptr : FindField(*in, std::string(part));
      if (field == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("there is no parameter ", name));
      }
      in = field->message_type();
      place = &(*place)[field->json_name()];
    }
    if (field->is_repeated()) {
      if (place->is_null()) *place = nlohmann::json::array();
      place->push_back(ValueOf(field, value));
    } else {
      *place = ValueOf(field, value);
    }
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string Event(absl::string_view kind, absl::string_view data) {
  return kind.empty() ? absl::StrCat("data: ", data, "\n\n")
                      : absl::StrCat("event: ", kind, "\ndata: ", data, "\n\n");
}

}  // namespace

HttpResponse ErrorResponse(const absl::Status& status) {
  HttpResponse response;
  response.status = HttpStatusOf(status.code());
  response.body = ErrorJson(status);
  return response;
}

const pb::MethodDescriptor* FindWebMethod(absl::string_view method) {
  v1::ListHostsRequest::descriptor();  // so that its service is linked
  const std::vector<std::string> parts = absl::StrSplit(method, '/');
  if (parts.size() != 2) return nullptr;
  const std::string name = absl::StrCat("onefold.v1.", parts[0]);
  if (name != kAdminService && name != kQueryService) return nullptr;
  const bool shown = name == kQueryService ||
                     std::find(std::begin(kAdminMethods), std::end(kAdminMethods), parts[1]) !=
                         std::end(kAdminMethods);
  if (!shown) return nullptr;
  const auto* const service = pb::DescriptorPool::generated_pool()->FindServiceByName(name);
  return service == nullptr ? nullptr : service->FindMethodByName(parts[1]);
}

bool OnlyLooks(const pb::MethodDescriptor& method) {
  return method.service()->full_name() == kQueryService ||
         absl::StartsWith(method.name(), "List") || absl::StartsWith(method.name(), "Get") ||
         absl::StartsWith(method.name(), "Watch");
}

absl::StatusOr<std::string> RequestBytes(const pb::MethodDescriptor& method,
                                         const HttpRequest& request) {
  const pb::Descriptor& type = *method.input_type();
  std::string json = request.body.empty() ? "{}" : request.body;
  if (request.method == "GET") {
    ASSIGN_OR_RETURN(json, JsonOfParameters(type, request));
  }
  const std::unique_ptr<pb::Message> message(
      pb::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  const auto parsed = pb::util::JsonStringToMessage(json, message.get());
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        std::string(parsed.message().data(), parsed.message().size()));
  }
  return message->SerializeAsString();
}

HttpResponse JsonGateway::Handle(absl::string_view method, const HttpRequest& request,
                                 const Caller& caller) {
  const pb::MethodDescriptor* const found = FindWebMethod(method);
  if (found == nullptr) return ErrorResponse(absl::NotFoundError("there is no such method"));
  if (const absl::Status may = CheckAccess(WireName(*found), caller); !may.ok()) {
    return ErrorResponse(may);
  }
  const bool streams = found->server_streaming();
  if (request.method == "GET" ? !OnlyLooks(*found) : streams) {
    HttpResponse response = ErrorResponse(absl::UnimplementedError(
        streams ? "a stream needs GET" : "what changes something needs POST"));
    response.status = 405;
    return response;
  }
  absl::StatusOr<std::string> bytes = RequestBytes(*found, request);
  if (!bytes.ok()) return ErrorResponse(bytes.status());
  return streams ? Stream(*found, *std::move(bytes)) : Call(*found, *bytes);
}

HttpResponse JsonGateway::Call(const pb::MethodDescriptor& method, const std::string& request) {
  grpc::ClientContext context;
  context.set_deadline(From(kCallMax));
  const grpc::ByteBuffer sent = ToBuffer(request);
  grpc::ByteBuffer received;
  grpc::Status status;
  absl::Notification done;
  grpc::GenericStub(channel_).UnaryCall(&context, WireName(method), {}, &sent, &received,
                                        [&](grpc::Status result) {
                                          status = std::move(result);
                                          done.Notify();
                                        });
  done.WaitForNotification();
  if (!status.ok()) return ErrorResponse(FromGrpcStatus(status));
  absl::StatusOr<std::string> json = ToJson(*method.output_type(), received);
  if (!json.ok()) return ErrorResponse(json.status());
  HttpResponse response;
  response.body = *std::move(json);
  return response;
}

HttpResponse JsonGateway::Stream(const pb::MethodDescriptor& method, std::string request) {
  if (streams_.fetch_add(1) >= kStreamsMax) {
    --streams_;
    return ErrorResponse(absl::ResourceExhaustedError("too many pages are open: close some"));
  }
  HttpResponse response;
  response.content_type = "text/event-stream";
  // Gives the place back also where the stream never begins.
  const std::shared_ptr<void> place(nullptr, [this](void*) { --streams_; });
  response.stream = [this, place, &method, request = std::move(request)](
                        const HttpResponse::Send& send) { Relay(method, request, send); };
  return response;
}

void JsonGateway::Relay(const pb::MethodDescriptor& method, const std::string& request,
                        const HttpResponse::Send& send) {
  grpc::ClientContext context;
  context.set_deadline(From(kStreamMax));
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel_);
  const auto call = stub.PrepareCall(&context, WireName(method), &queue);
  bool open = send("retry: 2000\n\n");
  // One operation is under way at a time; waits for it. False: it failed, so the call is over.
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    int steps = 0;
    while (queue.AsyncNext(&tag, &ok, From(kStreamStep)) == grpc::CompletionQueue::TIMEOUT) {
      if (open && ++steps % kStepsPerSignOfLife == 0) open = send(": here\n\n");
      if (!open || ending_) context.TryCancel();
    }
    return ok;
  };
  call->StartCall(nullptr);
  bool going = wait();
  if (going) {
    call->WriteLast(ToBuffer(request), grpc::WriteOptions(), nullptr);
    going = wait();
  }
  while (going) {
    grpc::ByteBuffer received;
    call->Read(&received, nullptr);
    going = wait();
    if (!going) break;
    const absl::StatusOr<std::string> json = ToJson(*method.output_type(), received);
    open = open && send(Event("", json.ok() ? *json : ErrorJson(json.status())));
    if (!open || ending_) context.TryCancel();
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
  if (!open || ending_) return;
  if (status.ok()) {
    send(Event("end", "{}"));
  } else if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) {
    send(Event("failed", ErrorJson(FromGrpcStatus(status))));
  }
}

}  // namespace onefold
