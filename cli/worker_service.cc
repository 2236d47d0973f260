#include "cli/worker_service.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <climits>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_line.h"
#include "cli/open_files.h"
#include "cli/privileges.h"
#include "common/escape.h"
#include "common/grpc_credentials.h"
#include "common/identity/network_address.h"
#include "common/identity/private_file.h"
#include "common/mutex.h"
#include "common/small_file.h"
#include "common/status_macros.h"
#include "coordinator/state_directory.h"
#include "worker/daemon/fleet_runner.h"
#include "worker/daemon/grpc_fleet_client.h"
#include "worker/daemon/run_journal.h"
#include "worker/daemon/worker_daemon.h"
#include "worker/identity/certificate_keeper.h"
#include "worker/identity/enrollment_client.h"
#include "worker/identity/host_identity.h"
#include "worker/kernel_check.h"

namespace onefold {
namespace {

constexpr size_t kWorkerIdBytesMax = 256;
// Shorter than a watchdog waits.
constexpr absl::Duration kRenewTimeout = absl::Seconds(10);

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "unnamed";
  return name;
}

// As its certificate says; of a host without one: chosen once, kept in its state directory.
absl::StatusOr<std::string> WorkerIdIn(const std::string& directory) {
  const absl::StatusOr<HostIdentity> joined = LoadHostIdentity(directory);
  if (joined.ok()) return joined->host_id;
  if (!absl::IsNotFound(joined.status())) return joined.status();
  const std::string path = absl::StrCat(directory, "/worker_id");
  const absl::StatusOr<std::string> known = ReadSmallFile(path, kWorkerIdBytesMax);
  if (known.ok()) {
    const std::string id(absl::StripAsciiWhitespace(*known));
    if (!id.empty() && IsUtf8(id)) return id;
  } else if (!absl::IsNotFound(known.status())) {
    return known.status();
  }
  std::random_device device;
  const std::string id =
      absl::StrFormat("%08x%08x%08x%08x", device(), device(), device(), device());
  RETURN_IF_ERROR(WriteSmallFile(path, absl::StrCat(id, "\n")));
  return id;
}

absl::Status CheckSystem(Log& log) {
  Privileges privileges;
  RETURN_IF_ERROR(ReadPrivileges(privileges));
  RETURN_IF_ERROR(CheckPrivileges(privileges));
  RETURN_IF_ERROR(CheckOpenFiles());
  for (const std::string& warning :
       {PrivilegeWarning(privileges), KernelWarning(RunningKernel())}) {
    if (!warning.empty()) log.Warning(warning);
  }
  return absl::OkStatus();
}

// How this host reaches coordinators.
class Dialler {
 public:
  Dialler(const std::string& state_directory, bool insecure)
      : files_{.identity_file = IdentityFile(state_directory),
               .trusted_file = TrustedFile(state_directory)},
        insecure_(insecure) {}

  bool has_joined() const { return ::access(files_.identity_file.c_str(), F_OK) == 0; }

  absl::StatusOr<std::shared_ptr<grpc::Channel>> Dial(const std::string& address) const {
    const bool plain =
        insecure_ || IsUnixAddress(address) || (!has_joined() && PlainTextAllowed(address));
    if (!plain && !has_joined()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "this host belongs to no fleet yet: on the coordinator, type `onefold fleet token "
          "create`, and here `onefold fleet join TOKEN@",
          Escape(address), "`"));
    }
    ASSIGN_OR_RETURN(
        const std::shared_ptr<grpc::ChannelCredentials> credentials,
        plain ? PlainChannelCredentials(address, insecure_) : FleetChannelCredentials(files_));
    return grpc::CreateCustomChannel(address, credentials, FleetChannelArguments());
  }

 private:
  const TlsFiles files_;
  const bool insecure_;
};

class WorkerServiceImpl final : public WorkerService {
 public:
  WorkerServiceImpl(const Options& options, std::string worker_id, index::DirectoryLock lock,
                    std::shared_ptr<grpc::Channel> home, Clock& clock, Log& log)
      : clock_(clock),
        log_(log),
        lock_(std::move(lock)),
        dialler_(options.state_directory, options.insecure),
        certificate_(options.state_directory,
                     [home](const std::string& request) {
                       return RenewCertificate(home, request, kRenewTimeout);
                     }),
        is_host_(options.home == nullptr && dialler_.has_joined()),
        journal_(absl::StrCat(options.state_directory, "/runs")),
        fleet_(worker_id, clock, std::move(home),
               [this](const std::string& address) { return dialler_.Dial(address); }),
        daemon_(DaemonOptions(options, std::move(worker_id)), DaemonParts(options, clock, log)) {}

  absl::Status Begin() { return daemon_.Start(); }

  void Tick() override {
    if (!is_host_) return;
    const absl::StatusOr<CertificateKeeper::Outcome> renewed =
        certificate_.RenewIfDue(clock_.Now());
    if (!renewed.ok()) {
      log_.Warning("the certificate could not be renewed",
                   {{"reason", std::string(renewed.status().message())}});
    } else if (*renewed == CertificateKeeper::Outcome::kRenewed) {
      log_.Info("the certificate was renewed");
    }
  }
  std::string StatusText() override { return daemon_.StatusText(); }
  bool Stop(absl::Duration patience) override { return daemon_.Stop(patience); }

 private:
  static WorkerDaemon::Options DaemonOptions(const Options& options, std::string worker_id) {
    return {.worker_id = std::move(worker_id),
            .version = VersionNumber(),
            .display_name = options.name.empty() ? HostName() : options.name,
            .labels = options.labels,
            .allow = options.allow,
            .desk = {.runs_at_once = options.runs_at_once}};
  }

  WorkerDaemon::Parts DaemonParts(const Options& options, Clock& clock, Log& log) {
    HostLimits limits{.allow = options.allow,
                      .own_directories = options.own_directories,
                      .thread_count_max = options.thread_count_max};
    limits.own_directories.push_back(options.state_directory);
    return {.clock = clock,
            .links = fleet_,
            .journal = journal_,
            .paths = paths_,
            .facts = facts_,
            .read_mounts = &MountTable::Read,
            .make_runner =
                [limits, &clock](ConnectVolume connect) {
                  return std::make_unique<FleetRunner>(limits, clock, std::move(connect));
                },
            .say =
                [&log](bool trouble, const std::string& sentence) {
                  log.Write(trouble ? LogLevel::kWarning : LogLevel::kInfo, sentence);
                },
            .chance = [this] { return Chance(); }};
  }

  // Called by every conversation's thread.
  double Chance() {
    MutexLock lock(&random_mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_);
  }

  Clock& clock_;
  Log& log_;
  const index::DirectoryLock lock_;
  const Dialler dialler_;
  CertificateKeeper certificate_;
  const bool is_host_;  // of a fleet, with a certificate
  Mutex random_mutex_;
  std::minstd_rand random_ ABSL_GUARDED_BY(random_mutex_){std::random_device()()};
  FileRunJournal journal_;
  SystemPathSource paths_;
  SystemFactsSource facts_;
  GrpcFleetClient fleet_;
  WorkerDaemon daemon_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerService>> WorkerService::Start(const Options& options,
                                                                    Clock& clock, Log& log) {
  RETURN_IF_ERROR(CheckSystem(log));
  RETURN_IF_ERROR(identity::MakePrivateDirectory(options.state_directory));
  ASSIGN_OR_RETURN(index::DirectoryLock lock, index::DirectoryLock::Take(options.state_directory));
  ASSIGN_OR_RETURN(std::string worker_id, WorkerIdIn(options.state_directory));
  std::shared_ptr<grpc::Channel> home = options.home;
  if (home == nullptr) {
    ASSIGN_OR_RETURN(home,
                     Dialler(options.state_directory, options.insecure).Dial(options.coordinator));
  }
  auto service = std::make_unique<WorkerServiceImpl>(options, std::move(worker_id), std::move(lock),
                                                     std::move(home), clock, log);
  RETURN_IF_ERROR(service->Begin());
  if (options.allow.empty()) {
    log.Warning(
        "nothing may be touched on this host: name paths under `allow` in the configuration");
  }
  return service;
}

}  // namespace onefold
