// Hosts of a fleet before the real service, each with its own certificate: who may have a lease,
// and who may speak of which volume.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/grpc_credentials.h"
#include "common/identity/join_token.h"
#include "common/identity/private_file.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "coordinator/coordinator_service.h"
#include "coordinator/identity/grpc_door.h"
#include "coordinator/identity/identity.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::index {
namespace {

using grpc::StatusCode;
using ::testing::SizeIs;

constexpr VolumeUuid kFirst = {{1}};
constexpr VolumeUuid kSecond = {{2}};

class FleetHostsTest : public ::testing::Test {
 protected:
  struct Host {
    std::string id;
    std::unique_ptr<v1::CoordinatorService::Stub> stub;
  };

  FleetHostsTest() {
    identity_ = *Identity::Open({.directory = temp_.path() + "/identity", .server_names = {}},
                                state_, clock_.Now());
    volumes_ = *VolumeBook::Open(index_);
    leases_ = *LeaseOffice::Open(state_, clock_, {});
    fleet_ = *Fleet::Open({.time_zone = absl::UTCTimeZone()}, state_, clock_);
    service_ = std::make_unique<CoordinatorService>(index_, *volumes_, *leases_);
    service_->ServeFleet(*fleet_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             *FleetServerCredentials({.identity_file = identity_->server_file(),
                                                      .trusted_file = identity_->trusted_file()},
                                                     MakeDoor(*identity_, clock_)),
                             &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    first_ = Join();
    second_ = Join();
  }
  ~FleetHostsTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  Host Join() {
    const identity::PrivateKey key = *identity::PrivateKey::Generate();
    const auto token = identity_->CreateJoinToken(absl::Hours(1), "", 1, clock_.Now());
    const std::string secret =
        identity::SecretToText(identity::ParseJoinToken(token->text)->secret);
    const auto joined = identity_->Join(secret, *identity::MakeCertificateRequest(key), "nas",
                                        "peer", clock_.Now());
    CHECK(joined.ok());
    grpc::ChannelArguments arguments = FleetChannelArguments();
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return {.id = joined->host_id,
            .stub = v1::CoordinatorService::NewStub(grpc::CreateCustomChannel(
                absl::StrCat("127.0.0.1:", port_),
                PersonChannelCredentials(key.ToPem(), joined->certificate.certificate_pem,
                                         **identity::ReadPrivateFile(identity_->trusted_file())),
                arguments))};
  }

  // Reports `volume` and asks for a lease of it, as `name`.
  v1::SyncResponse Sync(const Host& host, const VolumeUuid& volume, const std::string& name) {
    v1::SyncRequest request;
    request.set_worker_id(name);
    v1::MountedVolume& mounted = *request.mutable_host()->add_volumes();
    mounted.set_volume_uuid(ToBytes(volume));
    mounted.add_mount_paths("/data");
    mounted.add_allowed_roots("/data");
    v1::VolumeState& state = *request.add_volumes();
    state.set_uuid(ToBytes(volume));
    state.set_block_bytes(4096);
    state.set_checksum_kind(v1::CHECKSUM_KIND_CRC32C);
    state.set_filesystem_generation(1000);
    state.set_want_lease(true);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::SyncResponse response;
    status_ = host.stub->Sync(&context, request, &response);
    return response;
  }
  StatusCode Upload(const Host& host, const v1::VolumeOrder& order) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto stream = host.stub->UploadExtents(&context);
    v1::UploadExtentsRequest request;
    *request.mutable_begin()->mutable_lease() = order.lease();
    request.mutable_begin()->set_incarnation(order.incarnation());
    request.mutable_begin()->set_kind(v1::UPLOAD_KIND_SCAN);
    stream->Write(request);
    stream->WritesDone();
    return stream->Finish().error_code();
  }
  void Start(const VolumeUuid& volume) {
    v1::StartRunsRequest request;
    request.set_volume(ToString(volume));
    ASSERT_THAT(fleet_->StartRuns(request), IsOk());
  }

  TempDir temp_;
  Clock& clock_ = SystemClock();
  MemoryStore index_;
  MemoryStore state_;
  std::unique_ptr<Identity> identity_;
  std::unique_ptr<VolumeBook> volumes_;
  std::unique_ptr<LeaseOffice> leases_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  Host first_;
  Host second_;
  grpc::Status status_;
};

TEST_F(FleetHostsTest, LeaseComesWithARun) {
  EXPECT_FALSE(Sync(first_, kFirst, first_.id).orders(0).has_lease());
  Start(kFirst);
  const v1::SyncResponse response = Sync(first_, kFirst, first_.id);
  EXPECT_THAT(response.run_orders(), SizeIs(1));
  ASSERT_TRUE(response.orders(0).has_lease()) << status_.error_message();
  EXPECT_EQ(Upload(first_, response.orders(0)), StatusCode::OK);
}

TEST_F(FleetHostsTest, AHostIsNobodyElse) {
  Sync(second_, kFirst, first_.id);
  EXPECT_EQ(status_.error_code(), StatusCode::PERMISSION_DENIED);
}

// Epochs are small numbers: a host that guesses one must not get at another's index.
TEST_F(FleetHostsTest, AnothersVolumeIsOutOfReach) {
  Sync(first_, kFirst, first_.id);
  Sync(second_, kSecond, second_.id);
  Start(kFirst);
  const v1::VolumeOrder order = Sync(first_, kFirst, first_.id).orders(0);
  ASSERT_TRUE(order.has_lease());
  EXPECT_EQ(Upload(second_, order), StatusCode::PERMISSION_DENIED);
  // Nor does it get it by saying that it has the volume, too.
  const v1::SyncResponse claim = Sync(second_, kFirst, second_.id);
  EXPECT_FALSE(claim.orders(0).has_lease());
  EXPECT_EQ(claim.orders(0).incarnation(), 0u);
  EXPECT_EQ(Upload(second_, order), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Upload(first_, order), StatusCode::OK);
}

}  // namespace
}  // namespace onefold::index
