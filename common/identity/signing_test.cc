#include "common/identity/signing.h"

#include <set>
#include <string>

#include "common/identity/openssl.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kYear = absl::Hours(24 * 365);

class SigningTest : public ::testing::Test {
 protected:
  CertificateRequest Request() {
    return *CertificateRequest::FromPem(*MakeCertificateRequest(key_));
  }
  // Whether the TLS library would accept `leaf` from a peer that trusts `root`.
  static bool Verifies(const Certificate& leaf, const Certificate& root, int purpose,
                       const std::vector<Certificate>& between = {}, absl::Time at = kNow) {
    X509_STORE* const store = X509_STORE_new();
    X509_STORE_add_cert(store, root.get());
    STACK_OF(X509)* const chain = sk_X509_new_null();
    for (const Certificate& certificate : between) sk_X509_push(chain, certificate.get());
    X509_STORE_CTX* const context = X509_STORE_CTX_new();
    X509_STORE_CTX_init(context, store, leaf.get(), chain);
    X509_STORE_CTX_set_purpose(context, purpose);
    X509_STORE_CTX_set_time(context, 0, absl::ToTimeT(at));
    const bool verified = X509_verify_cert(context) == 1;
    X509_STORE_CTX_free(context);
    sk_X509_free(chain);
    X509_STORE_free(store);
    return verified;
  }

  const PrivateKey key_ = *PrivateKey::Generate();
  const KeyAndCertificate authority_ = *MakeAuthority("fleet", 10 * kYear, kNow);
};

TEST_F(SigningTest, AuthoritySignsItself) {
  const Certificate& certificate = authority_.certificate;
  EXPECT_TRUE(certificate.is_authority());
  EXPECT_TRUE(certificate.IsSignedBy(certificate));
  EXPECT_EQ(certificate.common_name(), "fleet");
  EXPECT_EQ(certificate.not_after(), kNow + 10 * kYear);
  EXPECT_EQ(certificate.key_fingerprint(), authority_.key.Fingerprint());
}

TEST_F(SigningTest, HostIsNamedByTheAuthority) {
  const auto host = SignHost(authority_, Request(), "abc", kYear, kNow);
  ASSERT_THAT(host, IsOk());
  EXPECT_EQ(host->common_name(), "host:abc");
  EXPECT_EQ(host->organizational_unit(), "");
  EXPECT_EQ(host->key_fingerprint(), key_.Fingerprint());
  EXPECT_EQ(host->not_after(), kNow + kYear);
  EXPECT_LT(host->not_before(), kNow);
  EXPECT_FALSE(host->is_authority());
  EXPECT_TRUE(Verifies(*host, authority_.certificate, X509_PURPOSE_SSL_CLIENT));
}

// A stolen host key must not be able to play the coordinator.
TEST_F(SigningTest, HostIsNoServerAndServerNoHost) {
  const Certificate host = *SignHost(authority_, Request(), "abc", kYear, kNow);
  const auto server = MakeServerCertificate(authority_, {"nas.example", "192.0.2.7"}, kYear, kNow);
  ASSERT_THAT(server, IsOk());
  EXPECT_FALSE(Verifies(host, authority_.certificate, X509_PURPOSE_SSL_SERVER));
  EXPECT_FALSE(Verifies(server->certificate, authority_.certificate, X509_PURPOSE_SSL_CLIENT));
  EXPECT_TRUE(Verifies(server->certificate, authority_.certificate, X509_PURPOSE_SSL_SERVER));
}

TEST_F(SigningTest, ServerNames) {
  const auto server = MakeServerCertificate(authority_,
                                            {"nas.example", "192.0.2.7", "fd00:0::1", "LocalHost",
                                             "localhost", "bad name", "a,DNS:evil", ""},
                                            kYear, kNow);
  ASSERT_THAT(server, IsOk());
  EXPECT_THAT(
      server->certificate.subject_names(),
      ::testing::ElementsAre(kServerName, "nas.example", "192.0.2.7", "fd00::1", "localhost"));
}

TEST_F(SigningTest, UserHasARole) {
  const std::string longest(64, 'n');
  const auto user = SignUser(authority_, Request(), longest, "viewer", kYear, kNow);
  ASSERT_THAT(user, IsOk());
  EXPECT_EQ(user->common_name(), "user:" + longest);
  EXPECT_EQ(user->organizational_unit(), "viewer");
}

TEST_F(SigningTest, NobodyOutlivesTheAuthority) {
  const Certificate host = *SignHost(authority_, Request(), "abc", 20 * kYear, kNow);
  EXPECT_EQ(host.not_after(), authority_.certificate.not_after());
}

TEST_F(SigningTest, SerialNumbersDiffer) {
  std::set<std::string> serials;
  for (int i = 0; i < 20; ++i) {
    const Certificate host = *SignHost(authority_, Request(), "abc", kYear, kNow);
    EXPECT_EQ(host.serial().size(), 32u);
    serials.insert(host.serial());
  }
  EXPECT_EQ(serials.size(), 20u);
}

// A second authority of the same name signs for its own fleet alone.
TEST_F(SigningTest, ForeignAuthorityConvincesNobody) {
  const KeyAndCertificate foreign = *MakeAuthority("fleet", kYear, kNow);
  const Certificate host = *SignHost(foreign, Request(), "abc", kYear, kNow);
  EXPECT_FALSE(Verifies(host, authority_.certificate, X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(host.IsSignedBy(authority_.certificate));
  EXPECT_TRUE(host.IsSignedBy(foreign.certificate));
}

TEST_F(SigningTest, ExpiredIsRefused) {
  const Certificate host = *SignHost(authority_, Request(), "abc", absl::Hours(1), kNow);
  EXPECT_FALSE(
      Verifies(host, authority_.certificate, X509_PURPOSE_SSL_CLIENT, {}, kNow + absl::Hours(2)));
}

// During a change of authorities those who know only the old one must still find the server.
TEST_F(SigningTest, OldTrustReachesTheNewAuthority) {
  const KeyAndCertificate next = *MakeAuthority("fleet 2", 10 * kYear, kNow);
  const auto bridge = CrossSign(authority_, next.certificate, kNow);
  ASSERT_THAT(bridge, IsOk());
  const KeyAndCertificate server = *MakeServerCertificate(next, {}, kYear, kNow);
  EXPECT_TRUE(
      Verifies(server.certificate, authority_.certificate, X509_PURPOSE_SSL_SERVER, {*bridge}));
  EXPECT_TRUE(Verifies(server.certificate, authority_.certificate, X509_PURPOSE_SSL_SERVER,
                       {*bridge, next.certificate}));
  EXPECT_TRUE(Verifies(server.certificate, next.certificate, X509_PURPOSE_SSL_SERVER, {*bridge}));
  EXPECT_FALSE(Verifies(server.certificate, authority_.certificate, X509_PURPOSE_SSL_SERVER));
}

}  // namespace
}  // namespace onefold::identity
