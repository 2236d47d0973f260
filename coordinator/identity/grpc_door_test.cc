// The door with a real server on a loopback port: what TLS, the table and revocations let through.

#include "coordinator/identity/grpc_door.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/grpc_credentials.h"
#include "common/identity/first_contact.h"
#include "common/identity/join_token.h"
#include "common/identity/private_file.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "coordinator/identity/enrollment_service.h"
#include "coordinator/identity/grpc_caller.h"
#include "coordinator/identity/grpc_live_calls.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onefold/v1/admin_service.grpc.pb.h"
#include "onefold/v1/coordinator_service.grpc.pb.h"

namespace onefold {
namespace {

using grpc::StatusCode;
using identity::CertificateRequest;
using identity::KeyAndCertificate;
using identity::MakeCertificateRequest;
using identity::PrivateKey;

constexpr absl::Duration kYear = absl::Hours(24 * 365);

// Time of the coordinator: the machine's, and a step further. TLS itself knows only the machine's.
class SteppingClock final : public Clock {
 public:
  absl::Time Now() override { return absl::Now() + step(); }
  absl::Duration Monotonic() override { return SystemClock().Monotonic() + step(); }
  void Step(absl::Duration by) { step_hours_ += absl::ToInt64Hours(by); }

 private:
  absl::Duration step() const { return absl::Hours(step_hours_.load()); }
  std::atomic<int64_t> step_hours_ = 0;
};

// Answers who calls, and plans for as long as it is listened to; everything else is UNIMPLEMENTED,
// which means that the door let it through.
class EchoService final : public v1::CoordinatorService::Service {
 public:
  grpc::Status Sync(grpc::ServerContext* context, const v1::SyncRequest*,
                    v1::SyncResponse* response) override {
    const absl::StatusOr<Caller> caller = CallerOf(*context);
    response->add_advice(caller.ok() ? ToString(*caller) : caller.status().ToString());
    return grpc::Status::OK;
  }
  grpc::Status FetchPlan(grpc::ServerContext* context, const v1::FetchPlanRequest*,
                         grpc::ServerWriter<v1::FetchPlanResponse>* writer) override {
    writer->Write({});
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    return grpc::Status::CANCELLED;
  }
};

class GrpcDoorTest : public ::testing::Test {
 protected:
  GrpcDoorTest() {
    identity_ = *Identity::Open({.directory = temp_.path() + "/identity", .server_names = {}},
                                state_, clock_.Now());
    enrollment_ = std::make_unique<EnrollmentService>(*identity_, clock_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             *FleetServerCredentials({.identity_file = identity_->server_file(),
                                                      .trusted_file = identity_->trusted_file(),
                                                      .reload_seconds = 1},
                                                     MakeDoor(*identity_, clock_)),
                             &port_);
    builder.AddListeningPort("127.0.0.1:0", *PlainServerCredentials("127.0.0.1:0", false),
                             &plain_port_);
    builder.RegisterService(enrollment_.get());
    builder.RegisterService(&echo_);
    builder.RegisterService(&admin_);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(live_calls_.NewInterceptors());
    builder.experimental().SetInterceptorCreators(std::move(creators));
    server_ = builder.BuildAndStart();
  }
  ~GrpcDoorTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  // What a client shows.
  struct Shown {
    std::string key_pem;
    std::string certificate_pem;
  };

  std::shared_ptr<grpc::Channel> Dial(std::shared_ptr<grpc::ChannelCredentials> credentials) {
    grpc::ChannelArguments arguments = FleetChannelArguments();
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_), std::move(credentials),
                                     arguments);
  }
  std::shared_ptr<grpc::Channel> DialAs(const Shown& shown) {
    return Dial(PersonChannelCredentials(shown.key_pem, shown.certificate_pem, Trusted()));
  }
  std::shared_ptr<grpc::Channel> DialAsNobody() {
    return Dial(JoiningChannelCredentials(Trusted()));
  }
  std::string Trusted() { return **identity::ReadPrivateFile(identity_->trusted_file()); }

  Shown Host() {
    const PrivateKey key = *PrivateKey::Generate();
    const auto joined =
        identity_->Join(NewSecret(), *MakeCertificateRequest(key), "nas", "peer", clock_.Now());
    host_id_ = joined->host_id;
    return {key.ToPem(), joined->certificate.certificate_pem};
  }
  Shown Person(Role role) {
    const PrivateKey key = *PrivateKey::Generate();
    const auto issued =
        identity_->CreateUser("ann", role, *MakeCertificateRequest(key), clock_.Now());
    return {key.ToPem(), issued->certificate_pem};
  }
  // A host's certificate of `authority`, made at `time`.
  static Shown ForeignHost(const KeyAndCertificate& authority, absl::Duration lifetime,
                           absl::Time time) {
    const PrivateKey key = *PrivateKey::Generate();
    const auto request = *CertificateRequest::FromPem(*MakeCertificateRequest(key));
    return {key.ToPem(), identity::SignHost(authority, request, "a", lifetime, time)->ToPem()};
  }
  KeyAndCertificate OurAuthority() {
    const std::string pem = **identity::ReadPrivateFile(temp_.path() + "/identity/authority.pem");
    return {*PrivateKey::FromPem(pem), *identity::Certificate::FromPem(pem)};
  }
  // Of the certificate that the server shows now.
  std::string ShownSerial() const {
    const auto shown =
        identity::FetchCertificates({.host = "127.0.0.1", .port = port_}, absl::Seconds(20));
    return shown.ok() && !shown->empty() ? shown->front().serial() : "none";
  }
  void WaitForOtherSerial(const std::string& before) const {
    const absl::Time end = absl::Now() + absl::Seconds(20);
    while (ShownSerial() == before && absl::Now() < end) absl::SleepFor(absl::Milliseconds(50));
    ASSERT_NE(ShownSerial(), before);
  }
  std::string NewSecret() {
    const auto token = identity_->CreateJoinToken(absl::Hours(1), "", 1, clock_.Now());
    return identity::SecretToText(identity::ParseJoinToken(token->text)->secret);
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }
  static grpc::Status Sync(const std::shared_ptr<grpc::Channel>& channel,
                           std::string* caller = nullptr) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::SyncResponse response;
    const grpc::Status status =
        v1::CoordinatorService::NewStub(channel)->Sync(&context, {}, &response);
    if (caller != nullptr && status.ok()) *caller = response.advice(0);
    return status;
  }
  static StatusCode ListHosts(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListHostsResponse response;
    return v1::AdminService::NewStub(channel)->ListHosts(&context, {}, &response).error_code();
  }
  static StatusCode StartRuns(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::StartRunsResponse response;
    return v1::AdminService::NewStub(channel)->StartRuns(&context, {}, &response).error_code();
  }
  static grpc::Status Join(const std::shared_ptr<grpc::Channel>& channel, const std::string& secret,
                           const PrivateKey& key, v1::JoinResponse* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::JoinRequest request;
    request.set_token(secret);
    request.set_certificate_request_pem(*MakeCertificateRequest(key));
    return v1::EnrollmentService::NewStub(channel)->Join(&context, request, response);
  }

  TempDir temp_;
  SteppingClock clock_;
  index::MemoryStore state_;
  std::unique_ptr<Identity> identity_;
  std::unique_ptr<EnrollmentService> enrollment_;
  LiveCalls live_calls_;
  EchoService echo_;
  v1::AdminService::Service admin_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  int plain_port_ = 0;
  std::string host_id_;
};

TEST_F(GrpcDoorTest, HostWorksAsItselfAndNeverAdministers) {
  const auto channel = DialAs(Host());
  std::string caller;
  const grpc::Status status = Sync(channel, &caller);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(caller, "host:" + host_id_);
  EXPECT_EQ(ListHosts(channel), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(StartRuns(channel), StatusCode::PERMISSION_DENIED);
}

TEST_F(GrpcDoorTest, RolesOfPeople) {
  const auto viewer = DialAs(Person(Role::kViewer));
  EXPECT_EQ(ListHosts(viewer), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(StartRuns(viewer), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sync(viewer).error_code(), StatusCode::PERMISSION_DENIED);
  const auto operating = DialAs(Person(Role::kOperator));
  EXPECT_EQ(StartRuns(operating), StatusCode::UNIMPLEMENTED);
  // The new certificate replaced the first one.
  EXPECT_EQ(ListHosts(viewer), StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcDoorTest, WithoutACertificateOnlyJoining) {
  const auto channel = DialAsNobody();
  EXPECT_EQ(Sync(channel).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ListHosts(channel), StatusCode::UNAUTHENTICATED);
  const std::string secret = NewSecret();
  const PrivateKey key = *PrivateKey::Generate();
  v1::JoinResponse first;
  v1::JoinResponse again;
  EXPECT_TRUE(Join(channel, secret, key, &first).ok());
  EXPECT_TRUE(Join(channel, secret, key, &again).ok());
  EXPECT_EQ(first.host_id(), again.host_id());
  std::string caller;
  EXPECT_TRUE(Sync(DialAs({key.ToPem(), first.certificate_pem()}), &caller).ok());
  EXPECT_EQ(caller, "host:" + first.host_id());
  // A token that somebody else has seen is worth nothing to them.
  EXPECT_EQ(Join(channel, secret, *PrivateKey::Generate(), &again).error_code(),
            StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcDoorTest, ForeignCertificatesAreRefused) {
  const absl::Time now = absl::Now();
  const KeyAndCertificate foreign = *identity::MakeAuthority("onefold fleet", kYear, now);
  EXPECT_EQ(Sync(DialAs(ForeignHost(foreign, kYear, now))).error_code(), StatusCode::UNAVAILABLE);
  // The same name as ours and another key.
  const KeyAndCertificate impostor =
      *identity::MakeAuthority(OurAuthority().certificate.common_name(), kYear, now);
  EXPECT_EQ(Sync(DialAs(ForeignHost(impostor, kYear, now))).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(GrpcDoorTest, ExpiredCertificateIsRefused) {
  const Shown expired = ForeignHost(OurAuthority(), absl::Hours(1), absl::Now() - absl::Hours(2));
  EXPECT_EQ(Sync(DialAs(expired)).error_code(), StatusCode::UNAVAILABLE);
}

// A connection may live for months: its certificate's end counts all the same.
TEST_F(GrpcDoorTest, CertificateEndsWhileConnected) {
  const auto channel = DialAs(Host());
  EXPECT_TRUE(Sync(channel).ok());
  clock_.Step(kYear);
  EXPECT_EQ(Sync(channel).error_code(), StatusCode::UNAUTHENTICATED);
}

TEST_F(GrpcDoorTest, RevokedHostIsRefusedAtItsNextCall) {
  const auto channel = DialAs(Host());
  EXPECT_TRUE(Sync(channel).ok());
  ASSERT_THAT(identity_->ForgetHost(host_id_, clock_.Now()), IsOk());
  EXPECT_EQ(Sync(channel).error_code(), StatusCode::UNAUTHENTICATED);
}

// A stream may last for hours: who is shut out is out of those, too, and nobody else.
TEST_F(GrpcDoorTest, StreamsOfARevokedHostEnd) {
  const auto begin = [this](const std::shared_ptr<grpc::Channel>& channel,
                            grpc::ClientContext& context) {
    SetDeadline(context);
    auto stream = v1::CoordinatorService::NewStub(channel)->FetchPlan(&context, {});
    v1::FetchPlanResponse response;
    EXPECT_TRUE(stream->Read(&response));
    return stream;
  };
  const Shown revoked = Host();
  const std::string revoked_id = host_id_;
  grpc::ClientContext contexts[2];
  const auto out = begin(DialAs(revoked), contexts[0]);
  const auto in = begin(DialAs(Host()), contexts[1]);
  live_calls_.EndThoseShutOut(*identity_, clock_.Now());
  ASSERT_THAT(identity_->ForgetHost(revoked_id, clock_.Now()), IsOk());
  live_calls_.EndThoseShutOut(*identity_, clock_.Now());
  v1::FetchPlanResponse response;
  EXPECT_FALSE(out->Read(&response));
  EXPECT_EQ(out->Finish().error_code(), StatusCode::CANCELLED);
  // The other one goes on until its certificate ends.
  clock_.Step(kYear);
  live_calls_.EndThoseShutOut(*identity_, clock_.Now());
  EXPECT_FALSE(in->Read(&response));
  EXPECT_EQ(in->Finish().error_code(), StatusCode::CANCELLED);
}

// Whoever stole a host's key cannot play the coordinator for others, and a server of another fleet
// convinces nobody.
TEST_F(GrpcDoorTest, ClientKnowsItsCoordinator) {
  const KeyAndCertificate other = *identity::MakeAuthority("other", kYear, absl::Now());
  const auto channel = Dial(JoiningChannelCredentials(other.certificate.ToPem()));
  EXPECT_EQ(Sync(channel).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(GrpcDoorTest, FirstContactFindsTheAuthorityOfTheToken) {
  const auto token = identity::ParseJoinToken(
      identity_->CreateJoinToken(absl::Hours(1), "", 1, clock_.Now())->text);
  const auto shown =
      identity::FetchCertificates({.host = "127.0.0.1", .port = port_}, absl::Seconds(20));
  ASSERT_THAT(shown, IsOk());
  const auto authority = identity::FindAuthority(*shown, token->authority_fingerprint);
  ASSERT_THAT(authority, IsOk());
  v1::JoinResponse response;
  const grpc::Status status =
      Join(Dial(JoiningChannelCredentials(authority->ToPem())),
           identity::SecretToText(token->secret), *PrivateKey::Generate(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(GrpcDoorTest, PlainTextOnLoopbackIsLocal) {
  const std::string address = absl::StrCat("127.0.0.1:", plain_port_);
  const auto channel =
      grpc::CreateChannel(address, *PlainChannelCredentials(address, /*insecure=*/false));
  std::string caller;
  EXPECT_TRUE(Sync(channel, &caller).ok());
  EXPECT_EQ(caller, "local");
  EXPECT_THAT(PlainChannelCredentials("192.0.2.1:7171", false),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(PlainServerCredentials("0.0.0.0:7171", false),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(PlainServerCredentials("0.0.0.0:7171", true), IsOk());
}

// The server's certificate is replaced while it runs: new connections see the new one, old ones
// live on.
TEST_F(GrpcDoorTest, ServerCertificateChangesWithoutARestart) {
  const auto old_connection = DialAs(Host());
  EXPECT_TRUE(Sync(old_connection).ok());
  const std::string before = ShownSerial();
  ASSERT_THAT(identity::Authority::Open(temp_.path() + "/identity", {"new.example"}, absl::Now()),
              IsOk());
  WaitForOtherSerial(before);
  EXPECT_TRUE(Sync(old_connection).ok());
  EXPECT_TRUE(Sync(DialAs(Host())).ok());
}

// The authority changes: hosts of the old one, who know nothing of it, stay connected and connect
// anew; hosts of the new one are let in too. When the old one is distrusted, its hosts are out.
TEST_F(GrpcDoorTest, AuthorityChangesWithoutARestart) {
  const Shown old_host = Host();
  const std::string old_trust = Trusted();
  const auto old_token = *identity::ParseJoinToken(
      identity_->CreateJoinToken(absl::Hours(1), "", 1, clock_.Now())->text);
  const auto dial_with_old_trust = [&] {
    return Dial(PersonChannelCredentials(old_host.key_pem, old_host.certificate_pem, old_trust));
  };
  std::string shown = ShownSerial();
  const auto changing = *identity::Authority::Open(temp_.path() + "/identity", {}, absl::Now());
  ASSERT_THAT(changing->Rotate(/*distrust=*/false, absl::Now()), IsOk());
  WaitForOtherSerial(shown);
  EXPECT_TRUE(Sync(dial_with_old_trust()).ok());
  EXPECT_TRUE(Sync(DialAs(old_host)).ok());
  EXPECT_TRUE(Sync(DialAs(ForeignHost(OurAuthority(), kYear, absl::Now()))).ok());

  // Nor is a token worthless that was made before.
  const auto chain =
      identity::FetchCertificates({.host = "127.0.0.1", .port = port_}, absl::Seconds(20));
  const auto found = identity::FindAuthority(*chain, old_token.authority_fingerprint);
  ASSERT_THAT(found, IsOk());
  v1::JoinResponse response;
  EXPECT_TRUE(Join(Dial(JoiningChannelCredentials(found->ToPem())),
                   identity::SecretToText(old_token.secret), *PrivateKey::Generate(), &response)
                  .ok());

  shown = ShownSerial();
  ASSERT_THAT(changing->Rotate(/*distrust=*/true, absl::Now()), IsOk());
  WaitForOtherSerial(shown);
  EXPECT_EQ(Sync(dial_with_old_trust()).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Sync(DialAs(old_host)).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Sync(DialAs(ForeignHost(OurAuthority(), kYear, absl::Now()))).ok());
}

TEST_F(GrpcDoorTest, UnusableFilesAreNoticedAtOnce) {
  const std::string server_file = identity_->server_file();
  const std::string trusted_file = identity_->trusted_file();
  EXPECT_THAT(FleetServerCredentials(
                  {.identity_file = "/nonexistent", .trusted_file = trusted_file}, nullptr),
              HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(FleetServerCredentials({.identity_file = trusted_file, .trusted_file = trusted_file},
                                     nullptr),
              HasCode(absl::StatusCode::kFailedPrecondition));
  const std::string mixed = temp_.path() + "/mixed.pem";
  ASSERT_THAT(identity::WritePrivateFile(mixed, PrivateKey::Generate()->ToPem() + Trusted()),
              IsOk());
  EXPECT_THAT(FleetChannelCredentials({.identity_file = mixed, .trusted_file = trusted_file}),
              HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(FleetChannelCredentials({.identity_file = server_file, .trusted_file = mixed}),
              IsOk());
}

}  // namespace
}  // namespace onefold
