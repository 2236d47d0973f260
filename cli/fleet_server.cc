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
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/command_line.h"
#include "cli/coordinator_backup.h"
#include "cli/metrics/metrics_source.h"
#include "cli/open_files.h"
#include "cli/retry_delay.h"
#include "cli/web/web_service.h"
#include "common/grpc_credentials.h"
#include "common/identity/certificate.h"
#include "common/identity/network_address.h"
#include "common/identity/private_file.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/network_limits.h"
#include "common/status_macros.h"
#include "coordinator/coordinator.h"
#include "coordinator/fleet/admin_service.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/identity/enrollment_service.h"
#include "coordinator/identity/grpc_door.h"
#include "coordinator/identity/grpc_live_calls.h"
#include "coordinator/identity/identity.h"
#include "coordinator/maintenance_service.h"

namespace onefold {
namespace {

constexpr char kUnixPrefix[] = "unix:";
// Certificates are renewed weeks before they end.
constexpr absl::Duration kMaintenanceInterval = absl::Hours(1);
// As often as Prometheus asks, about.
constexpr absl::Duration kTextfileInterval = absl::Seconds(60);
// Its port may be in use by a process that is about to end.
constexpr absl::Duration kWebTryInterval = absl::Seconds(10);

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
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(kConnectionAgeMax));
  grpc::ResourceQuota quota("onefold");
  quota.Resize(kServerBufferBytesMax).SetMaxThreads(kServerThreadsMax);
  builder.SetResourceQuota(quota);
}

bool IsPlain(const FleetServer::Options& options, const std::string& address) {
  return options.insecure || PlainTextAllowed(address);
}

// By what the coordinator may be called, for clients that look at names in certificates.
std::vector<std::string> ServerNames(const FleetServer::Options& options) {
  std::vector<std::string> names;
  const absl::StatusOr<HostAndPort> address = ParseHostAndPort(options.public_address);
  if (address.ok()) names.push_back(address->host);
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0') names.emplace_back(name);
  return names;
}

class FleetServerImpl final : public FleetServer {
 public:
  FleetServerImpl(Options options, Clock& clock, Log& log, std::unique_ptr<Coordinator> coordinator)
      : options_(std::move(options)),
        clock_(clock),
        log_(log),
        coordinator_(std::move(coordinator)),
        maintenance_(options_.state_directory, *coordinator_) {}

  ~FleetServerImpl() override { Shutdown(absl::ZeroDuration()); }

  absl::Status Serve() {
    RETURN_IF_ERROR(OpenIdentity());
    ASSIGN_OR_RETURN(fleet_, coordinator_->OpenFleet({.runs_at_once = options_.runs_at_once}));
    for (const std::string& warning : fleet_->warnings()) log_.Warning(warning);
    admin_.emplace(AdminService::Options{.public_address = options_.public_address,
                                         .hosts_join = enrollment_.has_value(),
                                         .page_address = [this] { return PageAddress(); }},
                   clock_, *fleet_, identity_.get(), &log_);
    grpc::EnableDefaultHealthCheckService(true);  // for the whole process
    grpc::ServerBuilder builder;
    SetReflection(options_.reflection, builder);
    SetLimits(builder);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(NewRetryDelayInterceptors());
    if (identity_ != nullptr) creators.push_back(live_calls_.NewInterceptors());
    builder.experimental().SetInterceptorCreators(std::move(creators));
    builder.RegisterService(&coordinator_->service());
    builder.RegisterService(&*admin_);
    builder.RegisterService(&maintenance_);
    if (enrollment_) builder.RegisterService(&*enrollment_);

    std::vector<std::string> listen = options_.listen;
    if (const auto control = ControlAddress()) listen.push_back(*control);
    std::vector<int> ports(listen.size(), 0);
    for (const std::string& address : listen) MakeFolderOf(address);
    for (size_t i = 0; i < listen.size(); ++i) {
      ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(listen[i]));
      builder.AddListeningPort(listen[i], credentials, &ports[i]);
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", Failed(listen, ports),
                                                 ": in use, or no address of this machine"));
    }
    metrics_.emplace(
        MetricsSource::Options{.version = VersionNumber(),
                               .state_directory = options_.state_directory,
                               .certificate_expire_time = [this] { return CertificateExpiry(); }},
        InProcessChannel(), clock_);
    return NoteAddresses(listen, ports);
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

  std::shared_ptr<grpc::Channel> InProcessChannel() override {
    return server_->InProcessChannel(grpc::ChannelArguments());
  }

  void Tick() override {
    ServeWeb();
    WriteMetrics();
    const absl::Status ticked = fleet_->Tick();
    if (!ticked.ok()) {
      log_.Error("what is due could not be started", {{"error", ticked.ToString()}});
    }
    if (identity_ == nullptr) return;
    live_calls_.EndThoseShutOut(*identity_, clock_.Now());
    if (clock_.Monotonic() < next_maintenance_) return;
    next_maintenance_ = clock_.Monotonic() + kMaintenanceInterval;
    const absl::Status status = identity_->Maintain(clock_.Now());
    if (!status.ok()) {
      log_.Error("certificates could not be looked after", {{"error", status.ToString()}});
    }
  }

  void Shutdown(absl::Duration grace) override {
    if (server_ == nullptr) return;
    web_.reset();
    // Whoever asks is sent elsewhere before calls begin to fail.
    if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
    server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(grace));
    server_->Wait();
    server_.reset();
  }

 private:
  // Only where somebody can come with a certificate.
  absl::Status OpenIdentity() {
    const bool all_plain =
        std::all_of(options_.listen.begin(), options_.listen.end(),
                    [&](const std::string& address) { return IsPlain(options_, address); });
    if (all_plain && options_.web.listen.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(identity_, Identity::Open({.directory = options_.state_directory + "/identity",
                                                .server_names = ServerNames(options_)},
                                               coordinator_->state(), clock_.Now()));
    if (!all_plain) enrollment_.emplace(*identity_, clock_, &log_);
    return absl::OkStatus();
  }

  // Certificates and figures for Prometheus are looked at where they are.
  std::optional<absl::Time> CertificateExpiry() {
    if (identity_ == nullptr) return std::nullopt;
    const auto pem = identity::ReadPrivateFile(identity_->server_file());
    if (!pem.ok() || !pem->has_value()) return std::nullopt;
    const auto certificate = identity::Certificate::FromPem(**pem);
    if (!certificate.ok()) return std::nullopt;
    return certificate->not_after();
  }

  void WriteMetrics() {
    if (options_.textfile.empty() || clock_.Monotonic() < next_textfile_) return;
    next_textfile_ = clock_.Monotonic() + kTextfileInterval;
    const absl::Status written = WriteTextfile(options_.textfile, metrics_->Text());
    if (!written.ok() && !textfile_failed_) {
      log_.Warning("the textfile could not be written", {{"error", written.ToString()}});
    }
    textfile_failed_ = !written.ok();
  }

  // Called every second: says once that the page is not served, and once that it is.
  void ServeWeb() {
    if (options_.web.listen.empty() || web_ != nullptr || clock_.Monotonic() < next_web_try_) {
      return;
    }
    next_web_try_ = clock_.Monotonic() + kWebTryInterval;
    const auto metrics = [this] { return metrics_->Text(); };
    absl::StatusOr<std::unique_ptr<WebService>> web = WebService::Start(
        {.web = options_.web, .names = ServerNames(options_), .version = VersionNumber()},
        *identity_, InProcessChannel(), metrics, clock_, log_);
    if (!web.ok()) {
      if (!web_failed_) {
        log_.Warning("the web page is not served yet", {{"reason", web.status().ToString()}});
      }
      web_failed_ = true;
      return;
    }
    web_ = *std::move(web);
    log_.Info("the web page is served", {{"address", web_->page_address()}});
    MutexLock lock(&page_mutex_);
    page_address_ = web_->page_address();
  }

  std::string PageAddress() {
    MutexLock lock(&page_mutex_);
    return page_address_;
  }

  // Unset where the name is too long for a socket.
  std::optional<std::string> ControlAddress() {
    const std::string path = ControlSocket(options_.state_directory);
    if (path.size() < sizeof(sockaddr_un::sun_path)) return absl::StrCat(kUnixPrefix, path);
    log_.Warning(
        "the name of the state directory is too long for a socket in it: no backup while "
        "this runs");
    return std::nullopt;
  }

  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> CredentialsFor(
      const std::string& address) {
    if (IsPlain(options_, address)) return PlainServerCredentials(address, options_.insecure);
    return FleetServerCredentials(
        {.identity_file = identity_->server_file(), .trusted_file = identity_->trusted_file()},
        MakeDoor(*identity_, clock_));
  }

  // As /run/onefold, which is gone after each boot. Only for the owner: the umask says so.
  static void MakeFolderOf(const std::string& address) {
    if (!IsUnixAddress(address)) return;
    std::error_code listening_tells;
    std::filesystem::create_directories(
        std::filesystem::path(std::string(absl::StripPrefix(address, kUnixPrefix))).parent_path(),
        listening_tells);
  }

  static std::string Failed(const std::vector<std::string>& listen, const std::vector<int>& ports) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i] == 0) return listen[i];
    }
    return "any address";
  }

  absl::Status NoteAddresses(const std::vector<std::string>& listen,
                             const std::vector<int>& ports) {
    for (size_t i = 0; i < listen.size(); ++i) {
      const std::string& address = listen[i];
      if (!IsUnixAddress(address)) {
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

  const Options options_;
  Clock& clock_;
  Log& log_;
  // In this order: what comes later refers to what comes before.
  const std::unique_ptr<Coordinator> coordinator_;
  MaintenanceService maintenance_;
  std::unique_ptr<Identity> identity_;  // null where all is plain text
  std::optional<EnrollmentService> enrollment_;
  Fleet* fleet_ = nullptr;  // the coordinator's
  std::optional<AdminService> admin_;
  LiveCalls live_calls_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
  absl::Duration next_maintenance_ = absl::ZeroDuration();
  std::optional<MetricsSource> metrics_;  // calls server_
  absl::Duration next_textfile_ = absl::ZeroDuration();
  bool textfile_failed_ = false;
  std::unique_ptr<WebService> web_;  // calls server_ and metrics_
  absl::Duration next_web_try_ = absl::ZeroDuration();
  bool web_failed_ = false;
  Mutex page_mutex_;
  std::string page_address_ ABSL_GUARDED_BY(page_mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<FleetServer>> FleetServer::Start(const Options& options,
                                                                Clock& clock, Log& log) {
  RETURN_IF_ERROR(CheckOpenFiles());
  Coordinator::Options coordinator_options{.state_directory = options.state_directory,
                                           .rules = options.rules,
                                           .free_bytes_min = options.free_bytes_min,
                                           .lease_ttl = options.lease_ttl};
  if (options.memory_bytes > 0) coordinator_options.memory_bytes = options.memory_bytes;
  ASSIGN_OR_RETURN(std::unique_ptr<Coordinator> coordinator,
                   Coordinator::Open(coordinator_options, clock));
  for (const std::string& warning : coordinator->warnings()) log.Warning(warning);
  auto server = std::make_unique<FleetServerImpl>(options, clock, log, std::move(coordinator));
  RETURN_IF_ERROR(server->Serve());
  return server;
}

}  // namespace onefold
