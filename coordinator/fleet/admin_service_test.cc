#include "coordinator/fleet/admin_service.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/testing/fake_clock.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Knows two hosts, one of which never reported.
class FakeIdentityOffice final : public IdentityOffice {
 public:
  absl::StatusOr<JoinToken> CreateJoinToken(absl::Duration, absl::string_view request_id,
                                            int host_count_max, absl::Time now) override {
    return JoinToken{.text = absl::StrCat("token-", request_id, "-", host_count_max),
                     .expire_time = now};
  }
  absl::StatusOr<IssuedCertificate> CreateUser(absl::string_view name, Role role, absl::string_view,
                                               absl::Time now) override {
    return IssuedCertificate{.certificate_pem = absl::StrCat(name, " ", ToString(role)),
                             .authority_pem = "authority",
                             .expire_time = now};
  }
  absl::StatusOr<SignIn> CreateSignIn(absl::string_view name, absl::Time now) override {
    return SignIn{.token = absl::StrCat("sign-in-", name), .expire_time = now};
  }
  absl::StatusOr<Person> RemoveUser(absl::string_view name, absl::Time) override {
    if (name != "ann") return absl::NotFoundError("there is nobody of this name");
    return People()[0];
  }
  std::vector<Person> People() const override {
    return {{.name = "ann", .role = Role::kOperator, .certificate_expire_time = expiry}};
  }
  absl::Status ForgetHost(absl::string_view host_id, absl::Time) override {
    forgotten.emplace_back(host_id);
    return absl::OkStatus();
  }
  std::vector<JoinedHost> JoinedHosts() const override {
    return {{.host_id = "h1", .display_name = "", .certificate_expire_time = expiry},
            {.host_id = "h9", .display_name = "new", .certificate_expire_time = expiry}};
  }
  std::optional<absl::Time> HostCertificateExpiry(absl::string_view) const override {
    return expiry;
  }

  const absl::Time expiry = absl::FromUnixSeconds(2'000'000'000);
  std::vector<std::string> forgotten;
};

class AdminServiceTest : public ::testing::Test {
 protected:
  AdminServiceTest() {
    absl::StatusOr<std::unique_ptr<Fleet>> fleet =
        Fleet::Open({.time_zone = absl::UTCTimeZone()}, state_, clock_);
    CHECK(fleet.ok());
    fleet_ = *std::move(fleet);
    service_ = std::make_unique<AdminService>(AdminService::Options{.public_address = "nas:7171"},
                                              clock_, *fleet_, &identity_, &log_);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    stub_ = v1::AdminService::NewStub(server_->InProcessChannel({}));
    Report("h1");
  }

  static v1::HostReport ReportOf(const std::string& id) {
    v1::HostReport report;
    report.set_display_name(absl::StrCat("nas-", id));
    v1::MountedVolume& volume = *report.add_volumes();
    volume.set_volume_uuid(absl::StrCat(id, "34567890123456"));
    volume.set_label("data");
    volume.add_mount_paths("/data");
    volume.add_allowed_roots("/data");
    return report;
  }
  void Report(const std::string& id) {
    ASSERT_THAT(fleet_->HandleSync(id, "1", ReportOf(id)), IsOk());
  }

  // Calls a method of the stub; the status is kept in status_.
  template <typename Request, typename Response>
  Response Call(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                const Request& request) {
    grpc::ClientContext context;
    Response response;
    status_ = (stub_.get()->*method)(&context, request, &response);
    return response;
  }
  using Stub = v1::AdminService::Stub;

  FakeClock clock_;
  index::MemoryStore state_;
  std::vector<std::string> logged_;
  Log log_{{}, clock_, [this](absl::string_view line) { logged_.emplace_back(line); }};
  FakeIdentityOffice identity_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::AdminService::Stub> stub_;
  grpc::Status status_;
};

TEST_F(AdminServiceTest, HostsThatNeverReportedAreShownToo) {
  const auto all = Call(&Stub::ListHosts, v1::ListHostsRequest());
  ASSERT_EQ(all.hosts_size(), 2);
  EXPECT_EQ(all.hosts(0).display_name(), "nas-h1");
  EXPECT_EQ(all.hosts(0).state(), v1::Host::STATE_CONNECTED);
  EXPECT_EQ(all.hosts(0).certificate_expire_time().seconds(), 2'000'000'000);
  EXPECT_EQ(all.hosts(1).display_name(), "new");
  EXPECT_THAT(all.hosts(1).advice(), ElementsAre(HasSubstr("never reported")));
}

TEST_F(AdminServiceTest, HostsComeInPages) {
  Report("h2");
  Report("h3");
  v1::ListHostsRequest request;
  request.set_page_size(2);
  std::vector<std::string> names;
  do {
    const auto page = Call(&Stub::ListHosts, request);
    for (const v1::Host& host : page.hosts()) names.push_back(host.display_name());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("nas-h1", "nas-h2", "nas-h3", "new"));
  request.set_page_token("not one");
  Call(&Stub::ListHosts, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// A host that can still call would be back at once.
TEST_F(AdminServiceTest, ForgettingRevokesFirst) {
  v1::ForgetHostRequest request;
  request.set_host("nas-h1");
  Call(&Stub::ForgetHost, request);
  EXPECT_TRUE(status_.ok());
  request.set_host("new");
  Call(&Stub::ForgetHost, request);
  EXPECT_TRUE(status_.ok());
  EXPECT_THAT(identity_.forgotten, ElementsAre("h1", "h9"));
  EXPECT_THAT(fleet_->ListHosts(), ::testing::IsEmpty());
  request.set_host("nobody");
  Call(&Stub::ForgetHost, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AdminServiceTest, TokensAndPeople) {
  v1::CreateJoinTokenRequest token;
  token.set_request_id("x");
  token.set_host_count_max(3);
  const auto made = Call(&Stub::CreateJoinToken, token);
  EXPECT_EQ(made.token(), "token-x-3");
  EXPECT_EQ(made.address(), "nas:7171");
  v1::CreateUserRequest user;
  user.set_name("ann");
  Call(&Stub::CreateUser, user);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  user.set_role(v1::USER_ROLE_OPERATOR);
  EXPECT_EQ(Call(&Stub::CreateUser, user).certificate_pem(), "ann operator");
  const auto users = Call(&Stub::ListUsers, v1::ListUsersRequest());
  ASSERT_EQ(users.users_size(), 1);
  EXPECT_EQ(users.users(0).role(), v1::USER_ROLE_OPERATOR);
  v1::RemoveUserRequest remove;
  remove.set_name("ann");
  EXPECT_EQ(Call(&Stub::RemoveUser, remove).user().name(), "ann");
  remove.set_name("bob");
  Call(&Stub::RemoveUser, remove);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::NOT_FOUND);
}

// Who changed what is found out afterwards.
TEST_F(AdminServiceTest, ChangesAreLoggedWithWhoMadeThem) {
  v1::RemoveUserRequest remove;
  remove.set_name("ann");
  Call(&Stub::RemoveUser, remove);
  v1::ApplyPoliciesRequest apply;
  apply.set_yaml("name: x\nselect: all\n");
  apply.set_dry_run(true);
  Call(&Stub::ApplyPolicies, apply);
  EXPECT_THAT(logged_, ElementsAre(HasSubstr("a person was removed name=ann by=local")));
}

TEST_F(AdminServiceTest, RunsArePagedAndWatched) {
  v1::StartRunsRequest start;
  start.set_volume("nas-h1:/data");
  std::string run_id;
  for (int i = 0; i < 3; ++i) {
    const auto started = Call(&Stub::StartRuns, start);
    ASSERT_EQ(started.runs_size(), 1) << status_.error_message();
    run_id = started.runs(0).run_id();
    v1::CancelRunRequest cancel;
    cancel.set_run_id(run_id);
    Call(&Stub::CancelRun, cancel);
    EXPECT_TRUE(status_.ok());
    // It has a slot, so its host is asked; the host knows nothing of it.
    Report("h1");
  }
  v1::ListRunsRequest list;
  list.set_page_size(2);
  const auto first = Call(&Stub::ListRuns, list);
  ASSERT_EQ(first.runs_size(), 2);
  EXPECT_EQ(first.runs(0).run_id(), run_id);
  list.set_page_token(first.next_page_token());
  const auto second = Call(&Stub::ListRuns, list);
  EXPECT_EQ(second.runs_size(), 1);
  EXPECT_EQ(second.next_page_token(), "");

  grpc::ClientContext context;
  v1::WatchRunRequest watch;
  watch.set_run_id(run_id);
  const auto reader = stub_->WatchRun(&context, watch);
  v1::WatchRunResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.run().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(AdminServiceTest, PeopleGetAWayToThePage) {
  v1::CreateSignInRequest request;
  request.set_name("ann");
  const v1::CreateSignInResponse response = Call(&Stub::CreateSignIn, request);
  ASSERT_TRUE(status_.ok());
  EXPECT_EQ(response.token(), "sign-in-ann");
  EXPECT_EQ(response.page_address(), "");
}

TEST_F(AdminServiceTest, WrongPolicyNamesTheLine) {
  v1::ApplyPoliciesRequest request;
  request.set_yaml("name: x\nselect: all\nwindw: 1\n");
  Call(&Stub::ApplyPolicies, request);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status_.error_message(), HasSubstr("line 3"));
  request.set_yaml("name: x\nselect: all\n");
  EXPECT_EQ(Call(&Stub::ApplyPolicies, request).changes_size(), 1);
  EXPECT_EQ(Call(&Stub::ListPolicies, v1::ListPoliciesRequest()).policies_size(), 1);
  v1::DeletePolicyRequest remove;
  remove.set_name("x");
  Call(&Stub::DeletePolicy, remove);
  EXPECT_TRUE(status_.ok());
}

}  // namespace
}  // namespace onefold
