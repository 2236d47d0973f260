#include "cli/fleet_server.h"

#include <grpcpp/channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/retry_delay.h"
#include "common/limits.h"
#include "common/network_limits.h"
#include "common/status_macros.h"
#include "coordinator/coordinator.h"

namespace onefold {
namespace {

constexpr char kUnixPrefix[] = "unix:";

bool IsUnix(absl::string_view address) { return absl::StartsWith(address, kUnixPrefix); }

int Milliseconds(absl::Duration span) { return static_cast<int>(absl::ToInt64Milliseconds(span)); }

// gRPC's reflection enters itself into every server of a process that links it; this takes it out.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    const auto is_reflection = [](const std::unique_ptr<grpc::ServerBuilderPlugin>& plugin) {
      return plugin->name() == "proto_server_reflection";
    };
    plugins->erase(std::remove_if(plugins->begin(), plugins->end(), is_reflection), plugins->end());
  }
};

void SetReflection(bool wanted, grpc::ServerBuilder& builder) {
  if (wanted) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();  // so that it is linked at all
  } else {
    builder.SetOption(std::make_unique<WithoutReflection>());
  }
}

void SetLimits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMessageBytesMax));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
  // Two processes on one port would each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(4 * kKeepaliveInterval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(kKeepaliveIntervalMin));
  grpc::ResourceQuota quota("onefold");
  quota.Resize(kServerBufferBytesMax).SetMaxThreads(kServerThreadsMax);
  builder.SetResourceQuota(quota);
}

absl::Status CheckPlainText(const FleetServer::Options& options) {
  if (options.insecure) return absl::OkStatus();
  for (const std::string& address : options.listen) {
    if (StaysOnMachine(address)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "listen: ", address,
        " is reached from beyond this machine, and without TLS anybody there could do anything. "
        "Listen on 127.0.0.1 or unix:/PATH, or say --insecure"));
  }
  return absl::OkStatus();
}

class FleetServerImpl final : public FleetServer {
 public:
  FleetServerImpl(Clock& clock, Log& log, std::unique_ptr<Coordinator> coordinator)
      : clock_(clock), log_(log), coordinator_(std::move(coordinator)) {}

  ~FleetServerImpl() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Serve(const Options& options) {
    grpc::EnableDefaultHealthCheckService(true);  // for the whole process
    grpc::ServerBuilder builder;
    SetReflection(options.reflection, builder);
    SetLimits(builder);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(NewRetryDelayInterceptors());
    builder.experimental().SetInterceptorCreators(std::move(creators));
    builder.RegisterService(&coordinator_->service());
    std::vector<int> ports(options.listen.size(), 0);
    for (size_t i = 0; i < options.listen.size(); ++i) {
      builder.AddListeningPort(options.listen[i], grpc::InsecureServerCredentials(), &ports[i]);
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", Failed(options, ports),
                                                 ": in use, or no address of this machine"));
    }
    return NoteAddresses(options, ports);
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

  std::shared_ptr<grpc::Channel> InProcessChannel() override {
    return server_->InProcessChannel(grpc::ChannelArguments());
  }

  void Tick() override {}

  void Shutdown(absl::Duration grace) override {
    if (server_ == nullptr) return;
    // Whoever asks is sent elsewhere before calls begin to fail.
    if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
    server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
    server_->Wait();
    server_.reset();
  }

 private:
  static std::string Failed(const Options& options, const std::vector<int>& ports) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i] == 0) return options.listen[i];
    }
    return "any address";
  }

  absl::Status NoteAddresses(const Options& options, const std::vector<int>& ports) {
    for (size_t i = 0; i < ports.size(); ++i) {
      const std::string& address = options.listen[i];
      if (!IsUnix(address)) {
        addresses_.push_back(absl::StrCat(address.substr(0, address.rfind(':')), ":", ports[i]));
        continue;
      }
      // The umask kept everybody out from the beginning.
      const std::string path(absl::StripPrefix(address, kUnixPrefix));
      if (::chmod(path.c_str(), 0600) != 0) return absl::ErrnoToStatus(errno, path);
      addresses_.push_back(address);
    }
    return absl::OkStatus();
  }

  Clock& clock_;
  Log& log_;
  const std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
};

}  // namespace

bool StaysOnMachine(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  // Names could resolve to anything.
  const bool is_loopback = absl::StartsWith(host, "127.") &&
                           host.find_first_not_of("0123456789.") == absl::string_view::npos;
  return IsUnix(address) || is_loopback || host == "localhost" || host == "[::1]";
}

absl::StatusOr<std::unique_ptr<FleetServer>> FleetServer::Start(const Options& options,
                                                                Clock& clock, Log& log) {
  RETURN_IF_ERROR(CheckPlainText(options));
  ASSIGN_OR_RETURN(
      std::unique_ptr<Coordinator> coordinator,
      Coordinator::Open({.state_directory = options.state_directory, .rules = options.rules},
                        clock));
  for (const std::string& warning : coordinator->warnings()) log.Warning(warning);
  auto server = std::make_unique<FleetServerImpl>(clock, log, std::move(coordinator));
  RETURN_IF_ERROR(server->Serve(options));
  return server;
}

}  // namespace onefold
