#include "worker/daemon/grpc_fleet_client.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <set>
#include <utility>

#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "onefold/v1/coordinator_service.grpc.pb.h"
#include "worker/grpc_coordinator_client.h"

namespace onefold {
namespace {

using Stub = v1::CoordinatorService::StubInterface;

constexpr std::chrono::seconds kSyncDeadline(30);
constexpr std::chrono::seconds kAssignmentDeadline(10);

class GrpcVolumeLink final : public VolumeLink {
 public:
  GrpcVolumeLink(std::shared_ptr<Stub> stub, std::string worker_id, Clock& clock, LeaseWatch& watch)
      : stub_(std::move(stub)),
        worker_id_(std::move(worker_id)),
        clock_(clock),
        client_(NewLeasedCoordinatorClient(*stub_, worker_id_, clock, watch)) {}

  CoordinatorClient& client() override { return *client_; }
  absl::StatusOr<std::optional<LeaseGrant>> Renew(const VolumeState& state) override {
    return RenewLease(*stub_, worker_id_, state, clock_);
  }
  absl::Status Release(const VolumeState& state, int64_t epoch) override {
    return ReleaseLease(*stub_, worker_id_, state, epoch);
  }

 private:
  const std::shared_ptr<Stub> stub_;
  const std::string worker_id_;
  Clock& clock_;
  const std::unique_ptr<CoordinatorClient> client_;
};

}  // namespace

class GrpcFleetClient::Link final : public FleetLink {
 public:
  Link(std::string worker_id, Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : worker_id_(std::move(worker_id)),
        clock_(clock),
        stub_(v1::CoordinatorService::NewStub(channel)) {}

  absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request) override {
    v1::SyncResponse response;
    RETURN_IF_ERROR(Call(kSyncDeadline, [&](grpc::ClientContext& context) {
      return stub_->Sync(&context, request, &response);
    }));
    return response;
  }

  absl::StatusOr<std::string> GetAssignment(const VolumeUuid& volume) override {
    v1::GetAssignmentRequest request;
    request.set_volume_uuid(ToBytes(volume));
    v1::GetAssignmentResponse response;
    RETURN_IF_ERROR(Call(kAssignmentDeadline, [&](grpc::ClientContext& context) {
      return stub_->GetAssignment(&context, request, &response);
    }));
    return response.coordinator_address();
  }

  std::unique_ptr<VolumeLink> NewVolumeLink(LeaseWatch& watch) override {
    return std::make_unique<GrpcVolumeLink>(stub_, worker_id_, clock_, watch);
  }

  void Cancel() override {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : under_way_) context->TryCancel();
  }

 private:
  template <typename Function>
  absl::Status Call(std::chrono::seconds deadline, const Function& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    {
      MutexLock lock(&mutex_);
      if (cancelled_) return absl::CancelledError("this worker is being stopped");
      under_way_.insert(&context);
    }
    const absl::Status status = FromGrpcStatus(call(context));
    MutexLock lock(&mutex_);
    under_way_.erase(&context);
    return status;
  }

  const std::string worker_id_;
  Clock& clock_;
  const std::shared_ptr<Stub> stub_;  // shared with the runs that speak through it
  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> under_way_ ABSL_GUARDED_BY(mutex_);
};

GrpcFleetClient::GrpcFleetClient(std::string worker_id, Clock& clock,
                                 std::shared_ptr<grpc::Channel> home, ChannelFactory make_channel)
    : worker_id_(std::move(worker_id)),
      clock_(clock),
      make_channel_(std::move(make_channel)),
      home_(std::make_unique<Link>(worker_id_, clock, home)) {}

GrpcFleetClient::~GrpcFleetClient() = default;

FleetLink& GrpcFleetClient::Home() { return *home_; }

absl::StatusOr<FleetLink*> GrpcFleetClient::To(const std::string& address) {
  MutexLock lock(&mutex_);
  const auto found = links_.find(address);
  if (found != links_.end()) return found->second.get();
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, make_channel_(address));
  return (links_[address] = std::make_unique<Link>(worker_id_, clock_, channel)).get();
}

}  // namespace onefold
