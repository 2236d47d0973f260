#include "bench/fleet_load/fleet_connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/grpc_status.h"
#include "common/status_macros.h"
#include "onefold/v1/admin_service.grpc.pb.h"
#include "onefold/v1/coordinator_service.grpc.pb.h"
#include "worker/grpc_coordinator_client.h"

namespace onefold::bench {
namespace {

constexpr int kChecksumKindCrc32c = 1;
constexpr int64_t kFilesystemGeneration = 1'000'000'000;

// The report of a host that has one volume, and may do all of it.
v1::SyncRequest ReportOf(int64_t volume) {
  v1::SyncRequest request;
  request.set_worker_id(WorkerId(volume));
  request.set_worker_version("fleet_load");
  v1::HostReport& host = *request.mutable_host();
  host.set_display_name(WorkerId(volume));
  v1::MountedVolume& mounted = *host.add_volumes();
  mounted.set_volume_uuid(ToBytes(UuidOf(volume)));
  mounted.add_mount_paths("/srv/data");
  mounted.add_allowed_roots("/srv/data");
  return request;
}

// Where hosts are served, a lease comes with a run: the host is reported, and a run is started as a
// person would. UNIMPLEMENTED: they are not.
absl::Status StartRun(const std::shared_ptr<grpc::Channel>& channel, int64_t volume) {
  grpc::ClientContext syncing;
  v1::SyncResponse synced;
  RETURN_IF_ERROR(FromGrpcStatus(v1::CoordinatorService::NewStub(channel)->Sync(
                      &syncing, ReportOf(volume), &synced)),
                  "reporting a host");
  v1::StartRunsRequest request;
  request.set_volume(ToString(UuidOf(volume)));
  grpc::ClientContext starting;
  v1::StartRunsResponse response;
  return FromGrpcStatus(
      v1::AdminService::NewStub(channel)->StartRuns(&starting, request, &response));
}

}  // namespace

struct LeasedVolume::Stub {
  std::unique_ptr<v1::CoordinatorService::StubInterface> service;
};

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string WorkerId(int64_t worker) { return absl::StrCat("worker-", worker); }

VolumeUuid UuidOf(int64_t volume) {
  VolumeUuid uuid;
  uuid.bytes = {0xf1, 0xee, 0x7d};
  for (int i = 0; i < 8; ++i) uuid.bytes[8 + i] = static_cast<uint8_t>(volume >> (56 - 8 * i));
  return uuid;
}

VolumeState StateOf(int64_t volume) {
  return {.uuid = UuidOf(volume),
          .block_bytes = 4096,
          .checksum_kind = kChecksumKindCrc32c,
          .filesystem_generation = kFilesystemGeneration};
}

LeasedVolume::LeasedVolume(std::unique_ptr<Stub> stub, std::unique_ptr<CoordinatorClient> client)
    : stub_(std::move(stub)), client_(std::move(client)) {}

LeasedVolume::~LeasedVolume() = default;

absl::StatusOr<std::unique_ptr<LeasedVolume>> LeasedVolume::Open(const std::string& address,
                                                                 int64_t volume) {
  auto stub = std::make_unique<Stub>();
  stub->service = v1::CoordinatorService::NewStub(Connect(address));
  auto client = NewGrpcCoordinatorClient(*stub->service, WorkerId(volume));
  ASSIGN_OR_RETURN(VolumeOrder order, client->Sync(StateOf(volume)));
  if (!order.leased) {
    RETURN_IF_ERROR(StartRun(Connect(address), volume), "starting a run");
    ASSIGN_OR_RETURN(order, client->Sync(StateOf(volume)));
  }
  if (!order.leased) {
    return absl::AbortedError("no lease was given: let the coordinator have more --runs-at-once");
  }
  return std::unique_ptr<LeasedVolume>(new LeasedVolume(std::move(stub), std::move(client)));
}

absl::Status AwaitServer(const std::string& address, absl::Duration patience) {
  const auto deadline = std::chrono::system_clock::now() + absl::ToChronoMilliseconds(patience);
  if (Connect(address)->WaitForConnected(deadline)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("nobody answers at ", address));
}

}  // namespace onefold::bench
