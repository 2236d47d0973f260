// `onefold fleet join` against a real server on a loopback port.

#include "cli/fleet/join_command.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/fleet/text_file.h"
#include "common/grpc_credentials.h"
#include "common/identity/join_token.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "coordinator/identity/enrollment_service.h"
#include "coordinator/identity/grpc_door.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/identity/certificate_keeper.h"
#include "worker/identity/enrollment_client.h"
#include "worker/identity/host_identity.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;

// Lets a few answers get lost on their way.
class ForgetfulService final : public v1::EnrollmentService::Service {
 public:
  explicit ForgetfulService(EnrollmentService& service) : service_(service) {}
  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                    v1::JoinResponse* response) override {
    const grpc::Status status = service_.Join(context, request, response);
    if (answers_to_lose > 0) {
      --answers_to_lose;
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost");
    }
    return status;
  }
  grpc::Status RenewCertificate(grpc::ServerContext* context,
                                const v1::RenewCertificateRequest* request,
                                v1::RenewCertificateResponse* response) override {
    return service_.RenewCertificate(context, request, response);
  }
  std::atomic<int> answers_to_lose = 0;

 private:
  EnrollmentService& service_;
};

class JoinCommandTest : public ::testing::Test {
 protected:
  JoinCommandTest() {
    identity_ = *Identity::Open({.directory = temp_.path() + "/identity", .server_names = {}},
                                state_, absl::Now());
    enrollment_ = std::make_unique<EnrollmentService>(*identity_, SystemClock());
    service_ = std::make_unique<ForgetfulService>(*enrollment_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             *FleetServerCredentials({.identity_file = identity_->server_file(),
                                                      .trusted_file = identity_->trusted_file()},
                                                     MakeDoor(*identity_, SystemClock())),
                             &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
  }
  ~JoinCommandTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string Address() const { return absl::StrCat("127.0.0.1:", port_); }
  std::string Invitation() {
    return absl::StrCat(identity_->CreateJoinToken(absl::Hours(1), "", 1, absl::Now())->text, "@",
                        Address());
  }
  int Join(const std::string& invitation, const Arguments& more = {}) {
    Arguments arguments = {invitation, "--state-directory", worker_, "--config", config_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kFleetJoinCommand.run(arguments);
  }

  TempDir temp_;
  const std::string worker_ = temp_.path() + "/worker";
  const std::string config_ = temp_.path() + "/etc/worker.yaml";
  index::MemoryStore state_;
  std::unique_ptr<Identity> identity_;
  std::unique_ptr<EnrollmentService> enrollment_;
  std::unique_ptr<ForgetfulService> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

TEST_F(JoinCommandTest, MakesAHost) {
  ASSERT_EQ(Join(Invitation(), {"--allow", "/srv/data", "--name", "attic"}), 0);
  const auto host = LoadHostIdentity(worker_);
  ASSERT_THAT(host, IsOk());
  ASSERT_EQ(identity_->JoinedHosts().size(), 1u);
  EXPECT_EQ(identity_->JoinedHosts()[0].host_id, host->host_id);
  EXPECT_EQ(identity_->JoinedHosts()[0].display_name, "attic");
  EXPECT_FALSE(IsJoining(worker_));
  const std::string config = *ReadTextFile(config_);
  EXPECT_THAT(config, HasSubstr(absl::StrCat("coordinator: \"", Address(), "\"\n")));
  EXPECT_THAT(config, HasSubstr("name: attic\n"));
  EXPECT_THAT(config, HasSubstr(absl::StrCat("state_directory: ", worker_)));
  EXPECT_THAT(config, HasSubstr("allow:\n  - /srv/data\n"));
}

TEST_F(JoinCommandTest, JoinedOnceIsEnough) {
  ASSERT_EQ(Join(Invitation()), 0);
  const std::string first = LoadHostIdentity(worker_)->host_id;
  EXPECT_EQ(Join(Invitation()), 1);
  EXPECT_EQ(LoadHostIdentity(worker_)->host_id, first);
  EXPECT_EQ(Join(Invitation(), {"--rejoin"}), 0);
  EXPECT_NE(LoadHostIdentity(worker_)->host_id, first);
}

// What runs at each start of a machine says the same each time.
TEST_F(JoinCommandTest, JoinsIfNeeded) {
  const std::string invitation = Invitation();
  EXPECT_EQ(Join(invitation, {"--if-needed"}), 0);
  const std::string first = LoadHostIdentity(worker_)->host_id;
  EXPECT_EQ(Join(invitation, {"--if-needed"}), 0);
  EXPECT_EQ(LoadHostIdentity(worker_)->host_id, first);
  EXPECT_EQ(identity_->JoinedHosts().size(), 1u);
}

// The answer got lost: the same words again make the same host.
TEST_F(JoinCommandTest, LostAnswer) {
  const std::string invitation = Invitation();
  service_->answers_to_lose = 1;
  EXPECT_EQ(Join(invitation), 1);
  EXPECT_FALSE(std::filesystem::exists(config_));
  ASSERT_EQ(Join(invitation), 0);
  ASSERT_EQ(identity_->JoinedHosts().size(), 1u);
  EXPECT_EQ(identity_->JoinedHosts()[0].host_id, LoadHostIdentity(worker_)->host_id);
}

// The certificate came, and then the configuration could not be written.
TEST_F(JoinCommandTest, InterruptedAfterTheCertificate) {
  const std::string invitation = Invitation();
  std::filesystem::create_directories(config_ + ".onefold-new");
  EXPECT_EQ(Join(invitation), 1);
  EXPECT_TRUE(IsJoining(worker_));
  std::filesystem::remove(config_ + ".onefold-new");
  EXPECT_EQ(Join(invitation), 0);
  EXPECT_EQ(identity_->JoinedHosts().size(), 1u);
}

// Somebody in between, or the wrong coordinator: nothing is told to them, the token least of all.
TEST_F(JoinCommandTest, OnlyTheCoordinatorOfTheToken) {
  identity::JoinToken token = *identity::ParseJoinToken(
      identity_->CreateJoinToken(absl::Hours(1), "", 1, absl::Now())->text);
  token.authority_fingerprint[0] ^= 1;
  EXPECT_EQ(Join(absl::StrCat(ToText(token), "@", Address())), 1);
  EXPECT_FALSE(std::filesystem::exists(worker_ + "/identity.pem"));
  EXPECT_FALSE(std::filesystem::exists(config_));
  EXPECT_TRUE(identity_->JoinedHosts().empty());
}

TEST_F(JoinCommandTest, WrongTokenAndNonsense) {
  const auto token = *identity::ParseJoinToken(
      identity_->CreateJoinToken(absl::Hours(1), "", 1, absl::Now())->text);
  const identity::JoinToken wrong = {.secret = std::string(16, 'x'),
                                     .authority_fingerprint = token.authority_fingerprint};
  EXPECT_EQ(Join(absl::StrCat(ToText(wrong), "@", Address())), 1);
  EXPECT_EQ(Join("nonsense"), 1);
  EXPECT_EQ(Join(Invitation(), {"--allow", "relative"}), 1);
  ASSERT_THAT(ReplaceTextFile(config_, "a: ["), IsOk());
  EXPECT_EQ(Join(Invitation()), 1);
  EXPECT_THAT(ReadTextFile(config_), IsOkAndHolds(std::string("a: [")));
  EXPECT_TRUE(identity_->JoinedHosts().empty());
}

// Join, then renew over the connection that the certificate makes.
TEST_F(JoinCommandTest, RenewsOverTheWire) {
  ASSERT_EQ(Join(Invitation()), 0);
  const HostIdentity before = *LoadHostIdentity(worker_);
  const auto channel =
      grpc::CreateCustomChannel(Address(),
                                *FleetChannelCredentials({.identity_file = IdentityFile(worker_),
                                                          .trusted_file = TrustedFile(worker_)}),
                                FleetChannelArguments());
  CertificateKeeper keeper(worker_, [&](const std::string& request) {
    return RenewCertificate(channel, request, absl::Seconds(20));
  });
  EXPECT_THAT(keeper.RenewIfDue(absl::Now()), IsOkAndHolds(CertificateKeeper::Outcome::kNotDue));
  EXPECT_THAT(keeper.RenewIfDue(before.not_after - absl::Hours(24)),
              IsOkAndHolds(CertificateKeeper::Outcome::kRenewed));
  EXPECT_EQ(LoadHostIdentity(worker_)->host_id, before.host_id);
  ASSERT_THAT(identity_->ForgetHost(before.host_id, absl::Now()), IsOk());
  CertificateKeeper forgotten(worker_, [&](const std::string& request) {
    return RenewCertificate(channel, request, absl::Seconds(20));
  });
  EXPECT_THAT(forgotten.RenewIfDue(before.not_after), HasCode(absl::StatusCode::kUnauthenticated));
}

}  // namespace
}  // namespace onefold
