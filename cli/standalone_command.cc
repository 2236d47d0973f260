#include "cli/standalone_command.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "cli/config_loader.h"
#include "cli/fleet_server.h"
#include "cli/service.h"
#include "cli/settings.h"
#include "cli/worker_service.h"
#include "common/grpc_status.h"
#include "common/identity/network_address.h"
#include "common/identity/private_file.h"
#include "common/log.h"
#include "common/small_file.h"
#include "common/status_macros.h"
#include "onefold/v1/admin_service.grpc.pb.h"

namespace onefold {
namespace {

constexpr absl::Duration kTickInterval = absl::Seconds(2);
// SIGTERM ends the process within 10 seconds, of which the worker gets the most: what it puts down
// in time need not be done again.
constexpr absl::Duration kStopPatience = absl::Seconds(6);
constexpr absl::Duration kShutdownGrace = absl::Milliseconds(500);
constexpr absl::Duration kStopLimit = absl::Seconds(9);
constexpr char kPolicyName[] = "standalone";
constexpr size_t kPolicyBytesMax = 1 << 20;

ConfiguredCommand Description() {
  return {.name = "onefold standalone",
          .default_file = "/etc/onefold/onefold.yaml",
          .settings = StandaloneSettings()};
}

std::string StandaloneHelp() {
  return absl::StrCat(
      R"(Usage:  onefold standalone [--config FILE] [OPTIONS]

Dedupes the volumes of this host by a schedule: coordinator and worker in one process. It touches
nothing outside the paths that `allow` names. `onefold run …` and `onefold policy …` speak to it through
its socket, as root.

)",
      ConfigHelp(Description()), kServiceExitCodes);
}

// The policies that the configuration asks for. Empty: none.
absl::StatusOr<std::string> PolicyText(const Config& config) {
  const std::string& file = config.Text("policy");
  if (!file.empty()) return ReadSmallFile(file, kPolicyBytesMax);
  if (config.Text("schedule").empty()) return std::string();
  std::string text = absl::StrCat("name: ", kPolicyName, "\nselect: all\nschedule: \"",
                                  config.Text("schedule"), "\"\n");
  if (!config.Text("window").empty()) {
    absl::StrAppend(&text, "window: \"", config.Text("window"), "\"\n");
  }
  return text;
}

absl::Status ApplyPolicy(const Config& config, const std::shared_ptr<grpc::Channel>& channel) {
  ASSIGN_OR_RETURN(const std::string text, PolicyText(config));
  const auto stub = v1::AdminService::NewStub(channel);
  grpc::ClientContext context;
  if (text.empty() || !config.Text("policy").empty()) {
    // The one of an earlier configuration.
    grpc::ClientContext deletion;
    v1::DeletePolicyRequest request;
    request.set_name(kPolicyName);
    v1::DeletePolicyResponse response;
    const absl::Status deleted = FromGrpcStatus(stub->DeletePolicy(&deletion, request, &response));
    if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
    if (text.empty()) return absl::OkStatus();
  }
  v1::ApplyPoliciesRequest request;
  request.set_yaml(text);
  v1::ApplyPoliciesResponse response;
  return FromGrpcStatus(stub->ApplyPolicies(&context, request, &response));
}

FleetServer::Options ServerOptions(const Config& config) {
  FleetServer::Options options;
  options.state_directory = absl::StrCat(config.Text("state_directory"), "/coordinator");
  options.listen = config.List("listen");
  options.web = WebOptionsOf(config);
  options.textfile = config.Text("textfile");
  return options;
}

WorkerService::Options WorkerOptions(const Config& config, std::shared_ptr<grpc::Channel> channel) {
  return {.home = std::move(channel),
          .state_directory = absl::StrCat(config.Text("state_directory"), "/worker"),
          .own_directories = {config.Text("state_directory")},
          .name = config.Text("name"),
          .labels = config.Map("labels"),
          .allow = config.List("allow"),
          .thread_count_max = static_cast<int>(config.Integer("threads")),
          .runs_at_once = static_cast<int>(config.Integer("runs_at_once"))};
}

// /run is empty after each start of the system. What cannot be made is told when it is listened on.
void MakeSocketDirectories(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    if (!IsUnixAddress(address)) continue;
    std::error_code ignored;
    std::filesystem::create_directory(
        std::filesystem::path(std::string(absl::StripPrefix(address, "unix:"))).parent_path(),
        ignored);
  }
}

// Coordinator and worker, the one before the other.
class StandaloneProcess final : public Service {
 public:
  absl::StatusOr<Started> Start(const Config& config, Clock& clock, Log& log) override {
    RETURN_IF_ERROR(identity::MakePrivateDirectory(config.Text("state_directory")));
    MakeSocketDirectories(config.List("listen"));
    ASSIGN_OR_RETURN(server_, FleetServer::Start(ServerOptions(config), clock, log));
    RETURN_IF_ERROR(ApplyPolicy(config, server_->InProcessChannel()), "the policy");
    ASSIGN_OR_RETURN(worker_, WorkerService::Start(
                                  WorkerOptions(config, server_->InProcessChannel()), clock, log));
    return Started{.message = "working",
                   .fields = {{"schedule", config.Text("schedule")},
                              {"addresses", absl::StrJoin(server_->addresses(), ", ")}},
                   .status = "working"};
  }
  std::string Tick() override {
    server_->Tick();
    worker_->Tick();
    return worker_->StatusText();
  }
  bool Stop() override {
    if (!worker_->Stop(kStopPatience)) return false;
    worker_.reset();
    server_->Shutdown(kShutdownGrace);
    server_.reset();
    return true;
  }

 private:
  std::unique_ptr<FleetServer> server_;
  std::unique_ptr<WorkerService> worker_;
};

int RunStandalone(const Arguments& arguments) {
  return RunService(
      {.command = Description(), .tick_interval = kTickInterval, .stop_limit = kStopLimit},
      arguments, std::make_unique<StandaloneProcess>());
}

}  // namespace

const Command kStandaloneCommand = {
    .name = "standalone",
    .summary = "coordinator and worker in one: dedupe this host by a schedule",
    .help = StandaloneHelp,
    .run = RunStandalone};

}  // namespace onefold
