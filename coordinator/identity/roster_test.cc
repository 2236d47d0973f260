#include "coordinator/identity/roster.h"

#include <string>

#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "coordinator/testing/memory_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kLifetime = absl::Hours(24 * 365);

Caller Host(std::string id) { return {.kind = Caller::Kind::kHost, .id = std::move(id)}; }
Caller User(std::string name) {
  return {.kind = Caller::Kind::kUser, .id = std::move(name), .role = Role::kViewer};
}

class RosterTest : public ::testing::Test {
 protected:
  RosterTest() { Reopen(); }
  void Reopen() { roster_ = *Roster::Open(state_, kLifetime); }
  Certificate NewCertificate() { return *SignHost(authority_, request_, "x", kLifetime, kNow); }

  bool IsRevoked(const Caller& caller, absl::string_view serial) const {
    return identity::IsRevoked(roster_->RevokedSubjects(), caller, serial);
  }

  const KeyAndCertificate authority_ = *MakeAuthority("fleet", 2 * kLifetime, kNow);
  const CertificateRequest request_ =
      *CertificateRequest::FromPem(*MakeCertificateRequest(*PrivateKey::Generate()));
  index::MemoryStore state_;
  std::unique_ptr<Roster> roster_;
};

TEST_F(RosterTest, HostsAreRemembered) {
  ASSERT_THAT(roster_->PutHost("a", "nas", NewCertificate()), IsOk());
  ASSERT_THAT(roster_->RenewHost("a", NewCertificate()), IsOk());
  Reopen();
  const auto hosts = roster_->Hosts();
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].host_id, "a");
  EXPECT_EQ(hosts[0].display_name, "nas");
  EXPECT_EQ(hosts[0].certificate_expire_time, kNow + kLifetime);
  EXPECT_EQ(roster_->HostCertificateExpiry("a"), kNow + kLifetime);
  EXPECT_EQ(roster_->HostCertificateExpiry("b"), std::nullopt);
}

// All certificates of a forgotten host are refused, renewals of a moment ago too, after a restart
// too.
TEST_F(RosterTest, ForgottenHostStaysOut) {
  ASSERT_THAT(roster_->PutHost("a", "nas", NewCertificate()), IsOk());
  ASSERT_THAT(roster_->RevokeHost("a", kNow), IsOk());
  ASSERT_THAT(roster_->RevokeHost("a", kNow), IsOk());
  Reopen();
  EXPECT_TRUE(IsRevoked(Host("a"), "any"));
  EXPECT_FALSE(IsRevoked(Host("b"), "any"));
  EXPECT_FALSE(IsRevoked(User("a"), "any"));
  EXPECT_THAT(roster_->PutHost("a", "nas", NewCertificate()),
              HasCode(absl::StatusCode::kPermissionDenied));
  EXPECT_TRUE(roster_->Hosts().empty());
}

TEST_F(RosterTest, NewCertificateOfAPersonReplacesTheOld) {
  const Certificate first = NewCertificate();
  const Certificate second = NewCertificate();
  ASSERT_THAT(roster_->PutUser("ann", Role::kAdmin, first, kNow), IsOk());
  EXPECT_FALSE(IsRevoked(User("ann"), first.serial()));
  ASSERT_THAT(roster_->PutUser("ann", Role::kViewer, second, kNow), IsOk());
  Reopen();
  EXPECT_TRUE(IsRevoked(User("ann"), first.serial()));
  EXPECT_FALSE(IsRevoked(User("ann"), second.serial()));
  ASSERT_THAT(roster_->RevokeUser("ann", kNow), IsOk());
  EXPECT_TRUE(IsRevoked(User("ann"), second.serial()));
  EXPECT_THAT(roster_->RevokeUser("ann", kNow), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(RosterTest, RevocationsOutliveTheCertificatesAndNoMore) {
  ASSERT_THAT(roster_->RevokeHost("a", kNow), IsOk());
  ASSERT_THAT(roster_->DropExpired(kNow + kLifetime), IsOk());
  EXPECT_TRUE(roster_->IsHostRevoked("a"));
  ASSERT_THAT(roster_->DropExpired(kNow + kLifetime + absl::Hours(49)), IsOk());
  EXPECT_FALSE(roster_->IsHostRevoked("a"));
  EXPECT_TRUE(state_.rows().empty());
}

TEST_F(RosterTest, FullDiskChangesNothing) {
  ASSERT_THAT(roster_->PutHost("a", "nas", NewCertificate()), IsOk());
  state_.FailWrites(absl::ResourceExhaustedError("full"));
  EXPECT_THAT(roster_->RevokeHost("a", kNow), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(roster_->IsHostRevoked("a"));
  EXPECT_EQ(roster_->Hosts().size(), 1u);
  EXPECT_THAT(roster_->PutUser("ann", Role::kAdmin, NewCertificate(), kNow),
              HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(roster_->RevokeUser("ann", kNow), HasCode(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace onefold::identity
