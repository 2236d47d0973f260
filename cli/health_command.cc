#include "cli/health_command.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/run_summary.h"
#include "common/config/setting.h"
#include "common/escape.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr std::chrono::seconds kDeadline(5);
// grpc.health.v1.HealthCheckResponse with status (field 1) SERVING (1). The request without a
// service is empty; so the two messages need no generated code.
constexpr char kServing[] = {0x08, 0x01};

std::string HealthHelp() {
  return R"(Usage:  onefold health ADDRESS

Asks the coordinator at ADDRESS (HOST:PORT or unix:/PATH) whether it serves.

Exit codes:  0 it serves · 1 it does not, or does not answer within 5 seconds
)";
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

absl::Status CheckHealth(const std::string& address) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  grpc::CompletionQueue queue;
  const grpc::Slice nothing;
  const grpc::ByteBuffer request(&nothing, 1);
  const std::unique_ptr<grpc::GenericClientAsyncResponseReader> call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  void* tag = nullptr;
  call->Finish(&response, &status, &tag);
  bool ok = false;
  queue.Next(&tag, &ok);
  RETURN_IF_ERROR(FromGrpcStatus(status));
  if (BytesOf(response) != std::string(kServing, sizeof(kServing))) {
    return absl::UnavailableError("it is shutting down, or not ready yet");
  }
  return absl::OkStatus();
}

int RunHealth(const Arguments& arguments) {
  if (arguments.size() != 1 || !CheckAddress(arguments[0]).ok()) {
    std::fputs(
        "onefold: one ADDRESS is needed: HOST:PORT or unix:/PATH\nTry: onefold health --help\n",
        stderr);
    return kExitRefused;
  }
  const absl::Status status = CheckHealth(arguments[0]);
  if (!status.ok()) {
    std::fprintf(stderr, "onefold: %s: %s\n", arguments[0].c_str(),
                 EscapeText(status.message()).c_str());
    return kExitRefused;
  }
  return PrintText("serving\n");
}

}  // namespace

const Command kHealthCommand = {.name = "health",
                                .parameters = "ADDRESS",
                                .summary = "ask whether a coordinator serves",
                                .help = HealthHelp,
                                .run = RunHealth};

}  // namespace onefold
