#include "coordinator/identity/identity.h"

#include <string>

#include "common/identity/join_token.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

std::string NewRequest() {
  return *identity::MakeCertificateRequest(*identity::PrivateKey::Generate());
}

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() { Reopen(); }
  void Reopen() {
    identity_.reset();
    identity_ = *Identity::Open({.directory = temp_.path() + "/identity", .server_names = {}},
                                state_, kNow);
  }
  std::string NewSecret() {
    const auto token = identity_->CreateJoinToken(absl::Hours(1), "", 1, kNow);
    return identity::SecretToText(identity::ParseJoinToken(token->text)->secret);
  }
  absl::StatusOr<Identity::Joined> Join(const std::string& secret, const std::string& request) {
    return identity_->Join(secret, request, "nas", "ipv4:192.0.2.1", kNow);
  }
  static Caller HostOf(const Identity::Joined& joined) {
    return *CallerOf(*identity::Certificate::FromPem(joined.certificate.certificate_pem));
  }

  TempDir temp_;
  index::MemoryStore state_;
  std::unique_ptr<Identity> identity_;
};

TEST_F(IdentityTest, TokenNamesTheAuthority) {
  const auto token = identity_->CreateJoinToken(absl::Hours(1), "", 1, kNow);
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(token->expire_time, kNow + absl::Hours(1));
  const auto joined = Join(NewSecret(), NewRequest());
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(identity::ParseJoinToken(token->text)->authority_fingerprint,
            identity::Certificate::FromPem(joined->certificate.authority_pem)->fingerprint());
}

TEST_F(IdentityTest, JoinGivesAHost) {
  const auto joined = Join(NewSecret(), NewRequest());
  ASSERT_THAT(joined, IsOk());
  const Caller caller = HostOf(*joined);
  EXPECT_EQ(caller.kind, Caller::Kind::kHost);
  EXPECT_EQ(caller.id, joined->host_id);
  EXPECT_EQ(caller.role, Role::kNone);
  ASSERT_EQ(identity_->JoinedHosts().size(), 1u);
  EXPECT_EQ(identity_->JoinedHosts()[0].display_name, "nas");
  EXPECT_EQ(identity_->HostCertificateExpiry(joined->host_id), joined->certificate.expire_time);
}

TEST_F(IdentityTest, TokenIsGoodOnceAcrossRestarts) {
  const std::string secret = NewSecret();
  const std::string request = NewRequest();
  const std::string host = Join(secret, request)->host_id;
  Reopen();
  EXPECT_EQ(Join(secret, request)->host_id, host);
  EXPECT_THAT(Join(secret, NewRequest()), HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_EQ(identity_->JoinedHosts().size(), 1u);
}

// A malformed request must not cost an operator the token.
TEST_F(IdentityTest, MalformedRequestSpendsNothing) {
  const std::string secret = NewSecret();
  EXPECT_THAT(Join(secret, "nonsense"), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(identity_->Join(secret, NewRequest(), std::string(254, 'x'), "peer", kNow),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(identity_->Join(secret, NewRequest(), "\xff", "peer", kNow),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Join(secret, NewRequest()), IsOk());
}

TEST_F(IdentityTest, WrongTriesAreLimitedByPeer) {
  const std::string secret = NewSecret();
  const std::string wrong(32, '0');
  const std::string request = NewRequest();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Join(wrong, request), HasCode(absl::StatusCode::kUnauthenticated));
  }
  EXPECT_THAT(Join(wrong, request), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Join(secret, request), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(identity_->Join(secret, request, "", "ipv4:192.0.2.2", kNow), IsOk());
}

TEST_F(IdentityTest, ForgottenHostIsOut) {
  const std::string secret = NewSecret();
  const std::string request = NewRequest();
  const auto joined = Join(secret, request);
  const Caller caller = HostOf(*joined);
  EXPECT_FALSE(identity_->IsRevoked(caller, "1"));
  ASSERT_THAT(identity_->ForgetHost(joined->host_id, kNow), IsOk());
  EXPECT_TRUE(identity_->IsRevoked(caller, "1"));
  EXPECT_THAT(identity_->Renew(caller, NewRequest(), kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
  // Nor does its token, which is still good for its key, bring it back.
  EXPECT_THAT(Join(secret, request), HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(identity_->ForgetHost("no id\n", kNow), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(IdentityTest, RenewalKeepsWhoItIs) {
  const auto joined = Join(NewSecret(), NewRequest());
  const auto issued = identity_->Renew(HostOf(*joined), NewRequest(), kNow + absl::Hours(1));
  ASSERT_THAT(issued, IsOk());
  EXPECT_EQ(CallerOf(*identity::Certificate::FromPem(issued->certificate_pem))->id,
            joined->host_id);
  EXPECT_EQ(identity_->JoinedHosts()[0].display_name, "nas");
  EXPECT_THAT(identity_->Renew({.kind = Caller::Kind::kLocal, .id = "", .role = Role::kAdmin},
                               NewRequest(), kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
}

TEST_F(IdentityTest, People) {
  const auto issued = identity_->CreateUser("ann", Role::kOperator, NewRequest(), kNow);
  ASSERT_THAT(issued, IsOk());
  const auto certificate = *identity::Certificate::FromPem(issued->certificate_pem);
  const auto caller = CallerOf(certificate);
  ASSERT_THAT(caller, IsOk());
  EXPECT_EQ(*caller, (Caller{.kind = Caller::Kind::kUser, .id = "ann", .role = Role::kOperator}));
  ASSERT_THAT(identity_->RemoveUser("ann", kNow), IsOk());
  EXPECT_TRUE(identity_->IsRevoked(*caller, certificate.serial()));
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a/b"),
                                  std::string("\xc3\xa4"), std::string(65, 'a')}) {
    EXPECT_THAT(identity_->CreateUser(name, Role::kAdmin, NewRequest(), kNow),
                HasCode(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(identity_->CreateUser("bob", Role::kNone, NewRequest(), kNow),
              HasCode(absl::StatusCode::kInvalidArgument));
}

// A certificate of the fleet that is neither a host's nor a person's speaks for nobody.
TEST_F(IdentityTest, OtherCertificatesAreNobody) {
  const auto authority = *identity::MakeAuthority("host", absl::Hours(1), kNow);
  EXPECT_THAT(CallerOf(authority.certificate), HasCode(absl::StatusCode::kUnauthenticated));
  const auto server = *identity::MakeServerCertificate(authority, {}, absl::Hours(1), kNow);
  EXPECT_THAT(CallerOf(server.certificate), HasCode(absl::StatusCode::kUnauthenticated));
  const auto request = *identity::CertificateRequest::FromPem(NewRequest());
  for (const char* id : {"", "a b", "a/../b"}) {
    EXPECT_THAT(CallerOf(*identity::SignHost(authority, request, id, absl::Hours(1), kNow)),
                HasCode(absl::StatusCode::kUnauthenticated));
  }
  EXPECT_THAT(
      CallerOf(*identity::SignUser(authority, request, "ann", "root", absl::Hours(1), kNow)),
      HasCode(absl::StatusCode::kUnauthenticated));
}

// A browser is in for as long as its owner is who they were, with the role they have now.
TEST_F(IdentityTest, PeopleSignInToThePage) {
  EXPECT_THAT(identity_->CreateSignIn("ann", kNow), HasCode(absl::StatusCode::kNotFound));
  ASSERT_THAT(identity_->CreateUser("ann", Role::kViewer, NewRequest(), kNow), IsOk());
  const std::string token = identity_->CreateSignIn("ann", kNow)->token;
  const auto session = identity_->SignInToPage(token, "peer", kNow);
  ASSERT_THAT(session, IsOk());
  EXPECT_EQ(session->caller,
            (Caller{.kind = Caller::Kind::kUser, .id = "ann", .role = Role::kViewer}));
  EXPECT_THAT(identity_->SessionCaller(session->cookie, kNow), IsOkAndHolds(session->caller));
  EXPECT_THAT(identity_->SignInToPage(token, "peer", kNow),
              HasCode(absl::StatusCode::kUnauthenticated));

  // Added anew, say because a key was lost: whoever was in is out.
  ASSERT_THAT(identity_->CreateUser("ann", Role::kAdmin, NewRequest(), kNow), IsOk());
  EXPECT_THAT(identity_->SessionCaller(session->cookie, kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
  const auto next =
      identity_->SignInToPage(identity_->CreateSignIn("ann", kNow)->token, "peer", kNow);
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(identity_->SessionCaller(next->cookie, kNow)->role, Role::kAdmin);
  const std::string unused = identity_->CreateSignIn("ann", kNow)->token;
  ASSERT_THAT(identity_->RemoveUser("ann", kNow), IsOk());
  EXPECT_THAT(identity_->SessionCaller(next->cookie, kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(identity_->SignInToPage(unused, "peer", kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
}

TEST_F(IdentityTest, SigningOutEndsOneBrowser) {
  ASSERT_THAT(identity_->CreateUser("ann", Role::kViewer, NewRequest(), kNow), IsOk());
  const auto here =
      identity_->SignInToPage(identity_->CreateSignIn("ann", kNow)->token, "peer", kNow);
  const auto there =
      identity_->SignInToPage(identity_->CreateSignIn("ann", kNow)->token, "peer", kNow);
  ASSERT_THAT(identity_->SignOut(here->cookie), IsOk());
  EXPECT_THAT(identity_->SessionCaller(here->cookie, kNow),
              HasCode(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(identity_->SessionCaller(there->cookie, kNow), IsOk());
}

TEST_F(IdentityTest, WrongLinksMakeWait) {
  ASSERT_THAT(identity_->CreateUser("ann", Role::kViewer, NewRequest(), kNow), IsOk());
  const std::string token = identity_->CreateSignIn("ann", kNow)->token;
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(identity_->SignInToPage("wrong", "peer", kNow),
                HasCode(absl::StatusCode::kUnauthenticated));
  }
  EXPECT_THAT(identity_->SignInToPage(token, "peer", kNow),
              HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(identity_->SignInToPage(token, "another", kNow), IsOk());
}

TEST_F(IdentityTest, MaintenanceForgetsWhatIsOver) {
  NewSecret();
  EXPECT_EQ(state_.rows().size(), 1u);
  ASSERT_THAT(identity_->Maintain(kNow + absl::Hours(2)), IsOk());
  EXPECT_TRUE(state_.rows().empty());
}

}  // namespace
}  // namespace onefold
