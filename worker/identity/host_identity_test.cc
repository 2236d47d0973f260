#include "worker/identity/host_identity.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "common/identity/private_file.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using identity::CertificateRequest;
using identity::KeyAndCertificate;
using identity::MakeCertificateRequest;
using identity::PrivateKey;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kYear = absl::Hours(24 * 365);

class HostIdentityTest : public ::testing::Test {
 protected:
  HostCertificate Sign(const PrivateKey& key, const KeyAndCertificate& authority) {
    const auto request = *CertificateRequest::FromPem(*MakeCertificateRequest(key));
    return {.certificate_pem = SignHost(authority, request, "abc", kYear, kNow)->ToPem(),
            .authority_pem = authority_.certificate.ToPem()};
  }

  TempDir temp_;
  const std::string directory_ = temp_.path() + "/worker";
  const PrivateKey key_ = *PrivateKey::Generate();
  const KeyAndCertificate authority_ = *identity::MakeAuthority("fleet", 10 * kYear, kNow);
};

TEST_F(HostIdentityTest, IsKeptPrivately) {
  EXPECT_THAT(LoadHostIdentity(directory_), HasCode(absl::StatusCode::kNotFound));
  ASSERT_THAT(SaveHostIdentity(directory_, key_, Sign(key_, authority_)), IsOk());
  const auto host = LoadHostIdentity(directory_);
  ASSERT_THAT(host, IsOk());
  EXPECT_EQ(host->host_id, "abc");
  EXPECT_EQ(host->not_after, kNow + kYear);
  for (const std::string& path : {IdentityFile(directory_), TrustedFile(directory_)}) {
    struct stat info = {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u) << path;
  }
}

// A coordinator that answers nonsense must not cost the host the certificate it has.
TEST_F(HostIdentityTest, WhatDoesNotFitIsNotSaved) {
  ASSERT_THAT(SaveHostIdentity(directory_, key_, Sign(key_, authority_)), IsOk());
  const KeyAndCertificate foreign = *identity::MakeAuthority("fleet", kYear, kNow);
  const PrivateKey other = *PrivateKey::Generate();
  HostCertificate malformed = Sign(key_, authority_);
  malformed.certificate_pem.resize(100);
  HostCertificate untrusting = Sign(key_, authority_);
  untrusting.authority_pem.clear();
  HostCertificate authority = Sign(key_, authority_);
  authority.certificate_pem = authority_.certificate.ToPem();
  for (const HostCertificate& bad : {Sign(other, authority_), Sign(key_, foreign), malformed,
                                     untrusting, authority, HostCertificate{}}) {
    EXPECT_THAT(SaveHostIdentity(directory_, key_, bad),
                HasCode(absl::StatusCode::kFailedPrecondition));
  }
  EXPECT_THAT(LoadHostIdentity(directory_), IsOk());
}

TEST_F(HostIdentityTest, DamageIsNoticed) {
  ASSERT_THAT(SaveHostIdentity(directory_, key_, Sign(key_, authority_)), IsOk());
  const std::string pem = **identity::ReadPrivateFile(IdentityFile(directory_));
  ASSERT_THAT(identity::WritePrivateFile(IdentityFile(directory_), pem.substr(0, 300)), IsOk());
  EXPECT_THAT(LoadHostIdentity(directory_), HasCode(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(identity::WritePrivateFile(IdentityFile(directory_), pem), IsOk());
  ASSERT_EQ(chmod(IdentityFile(directory_).c_str(), 0644), 0);
  EXPECT_THAT(LoadHostIdentity(directory_), HasCode(absl::StatusCode::kFailedPrecondition));
}

// The same key until the join has ended: only for it the token is good again.
TEST_F(HostIdentityTest, KeyForJoining) {
  const std::string first = KeyForJoining(directory_)->Fingerprint();
  EXPECT_EQ(KeyForJoining(directory_)->Fingerprint(), first);
  EXPECT_TRUE(IsJoining(directory_));
  ASSERT_THAT(ForgetKeyForJoining(directory_), IsOk());
  ASSERT_THAT(ForgetKeyForJoining(directory_), IsOk());
  EXPECT_FALSE(IsJoining(directory_));
  const std::string second = KeyForJoining(directory_)->Fingerprint();
  EXPECT_NE(second, first);
  ASSERT_THAT(identity::WritePrivateFile(directory_ + "/joining.pem", "torn"), IsOk());
  EXPECT_NE(KeyForJoining(directory_)->Fingerprint(), second);
}

}  // namespace
}  // namespace onefold
