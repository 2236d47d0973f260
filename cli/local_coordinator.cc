#include "cli/local_coordinator.h"

#include <grpcpp/channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/coordinator_backup.h"
#include "cli/local_queries.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "coordinator/coordinator.h"
#include "worker/grpc_coordinator_client.h"

namespace onefold {
namespace {

// Names this worker to its own coordinator. Always the same: the lease of a run that was killed is
// taken up by the next.
constexpr char kWorkerId[] = "local";
// Buffers of all streams together. Two of the largest messages in both directions fit.
constexpr size_t kBufferBytesMax = 32 * 1024 * 1024;

class CoordinatorRecords final : public RecordStore {
 public:
  explicit CoordinatorRecords(Coordinator& coordinator) : coordinator_(coordinator) {}

  absl::StatusOr<std::optional<std::string>> Get(const std::string& name) override {
    return coordinator_.GetRecord(name);
  }
  absl::Status Put(const std::string& name, const std::string& bytes) override {
    return coordinator_.PutRecord(name, bytes);
  }

 private:
  Coordinator& coordinator_;
};

class InProcessCoordinator final : public LocalCoordinator {
 public:
  InProcessCoordinator(std::unique_ptr<Coordinator> coordinator, std::string state_directory,
                       Clock& clock)
      : coordinator_(std::move(coordinator)),
        state_directory_(std::move(state_directory)),
        clock_(clock),
        records_(*coordinator_) {}

  ~InProcessCoordinator() override {
    stub_.reset();
    if (query_server_ != nullptr) query_server_->Shutdown(std::chrono::system_clock::now());
    // Whatever is still under way belongs to a run that has ended.
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

  RecordStore& records() override { return records_; }
  const std::vector<std::string>& warnings() const override { return coordinator_->warnings(); }
  absl::Status Compact() override { return coordinator_->Compact(); }

  absl::Status ServeQueries(std::function<std::vector<v1::RunStatus>()> runs) override {
    const std::string path = ControlSocket(state_directory_);
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::UnavailableError("its name is too long for a socket");
    }
    ASSIGN_OR_RETURN(queries_, LocalQueries::Open({.clock = clock_,
                                                   .index = coordinator_->index(),
                                                   .state = coordinator_->state(),
                                                   .volumes = [this] { return Volumes(); },
                                                   .running = true,
                                                   .runs = std::move(runs)}));
    grpc::ServerBuilder builder;
    builder.RegisterService(&queries_->service());
    SetSmall(builder);
    // The umask keeps others out from the beginning.
    builder.AddListeningPort(absl::StrCat("unix:", path), grpc::InsecureServerCredentials());
    query_server_ = builder.BuildAndStart();
    if (query_server_ == nullptr) return absl::UnavailableError("it cannot be listened on");
    if (::chmod(path.c_str(), 0600) != 0) return absl::ErrnoToStatus(errno, path);
    return absl::OkStatus();
  }

  std::unique_ptr<CoordinatorClient> NewClient() override {
    if (server_ == nullptr) StartServer();
    return NewGrpcCoordinatorClient(*stub_, kWorkerId);
  }

 private:
  // A client or two with a few streams: one queue, few threads, little memory.
  static void SetSmall(grpc::ServerBuilder& builder) {
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    grpc::ResourceQuota quota("onefold");
    builder.SetResourceQuota(quota.Resize(kBufferBytesMax));
  }

  std::vector<query::CountedVolume> Volumes() const {
    std::vector<query::CountedVolume> volumes;
    for (const index::Volume* volume : coordinator_->IndexedVolumes()) {
      volumes.push_back({.uuid = volume->uuid(), .record = volume->Record()});
    }
    return volumes;
  }

  void StartServer() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&coordinator_->service());
    SetSmall(builder);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);  // without a port there is nothing that could fail
    stub_ = v1::CoordinatorService::NewStub(server_->InProcessChannel(grpc::ChannelArguments()));
  }

  const std::unique_ptr<Coordinator> coordinator_;
  const std::string state_directory_;
  Clock& clock_;
  CoordinatorRecords records_;
  std::unique_ptr<LocalQueries> queries_;
  std::unique_ptr<grpc::Server> query_server_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::CoordinatorService::StubInterface> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocalCoordinator>> LocalCoordinator::Open(
    const std::string& state_directory, Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<Coordinator> coordinator,
                   Coordinator::Open({.state_directory = state_directory}, clock));
  return std::make_unique<InProcessCoordinator>(std::move(coordinator), state_directory, clock);
}

}  // namespace onefold
