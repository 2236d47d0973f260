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

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/run_summary.h"
#include "common/config/setting.h"
#include "common/escape.h"
#include "common/grpc_credentials.h"
#include "common/grpc_status.h"
#include "common/identity/network_address.h"
#include "common/small_file.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr std::chrono::seconds kDeadline(5);
// grpc.health.v1.HealthCheckResponse with status (field 1) SERVING (1). The request without a
// service is empty; so the two messages need no generated code.
constexpr char kServing[] = {0x08, 0x01};
// Far more than a few certificates.
constexpr size_t kTrustedBytesMax = 256 << 10;

std::string HealthHelp() {
  return R"(Usage:  onefold health [--trusted FILE | --insecure] ADDRESS

Asks the coordinator at ADDRESS (HOST:PORT or unix:/PATH) whether it serves. On Unix sockets and
loopback addresses plain text is spoken; elsewhere TLS.

  --trusted FILE   certificates of the fleet's authority: trusted.pem of a coordinator or a worker
  --insecure       the coordinator runs with --insecure: no TLS anywhere

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

struct HealthArguments {
  std::string address;
  std::string trusted_file;
  bool insecure = false;
};

absl::StatusOr<HealthArguments> ParseHealth(const Arguments& arguments) {
  HealthArguments parsed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--insecure") {
      parsed.insecure = true;
    } else if (argument == "--trusted" && i + 1 < arguments.size()) {
      parsed.trusted_file = arguments[++i];
    } else if (absl::StartsWith(argument, "--trusted=")) {
      parsed.trusted_file = argument.substr(sizeof("--trusted=") - 1);
    } else if (parsed.address.empty() && CheckAddress(argument).ok()) {
      parsed.address = argument;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("what is ", Escape(argument), "?"));
    }
  }
  if (parsed.address.empty()) {
    return absl::InvalidArgumentError("an ADDRESS is needed: HOST:PORT or unix:/PATH");
  }
  return parsed;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(
    const HealthArguments& arguments) {
  if (arguments.insecure || PlainTextAllowed(arguments.address)) {
    return PlainChannelCredentials(arguments.address, arguments.insecure);
  }
  if (arguments.trusted_file.empty()) {
    return absl::InvalidArgumentError("beyond this machine --trusted FILE is needed");
  }
  ASSIGN_OR_RETURN(const std::string pem, ReadSmallFile(arguments.trusted_file, kTrustedBytesMax));
  return JoiningChannelCredentials(pem);
}

absl::Status CheckHealth(const HealthArguments& arguments) {
  ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(arguments));
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(arguments.address, credentials, FleetChannelArguments()));
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
  const absl::StatusOr<HealthArguments> parsed = ParseHealth(arguments);
  if (!parsed.ok()) {
    std::fprintf(stderr, "onefold: %s\nTry: onefold health --help\n",
                 EscapeText(parsed.status().message()).c_str());
    return kExitRefused;
  }
  const absl::Status status = CheckHealth(*parsed);
  if (!status.ok()) {
    std::fprintf(stderr, "onefold: %s: %s\n", parsed->address.c_str(),
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
