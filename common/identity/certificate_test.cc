#include "common/identity/certificate.h"

#include <string>

#include "common/identity/openssl.h"
#include "common/identity/signing.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class CertificateTest : public ::testing::Test {
 protected:
  const KeyAndCertificate authority_ = *MakeAuthority("fleet", absl::Hours(1000), kNow);
  const std::string pem_ = authority_.certificate.ToPem();
};

TEST_F(CertificateTest, SurvivesItsText) {
  const auto read = Certificate::FromPem(pem_);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->fingerprint(), authority_.certificate.fingerprint());
  EXPECT_EQ(read->serial(), authority_.certificate.serial());
  EXPECT_EQ(read->not_after(), kNow + absl::Hours(1000));
}

TEST_F(CertificateTest, IsFoundBesideItsKey) {
  const std::string both = authority_.key.ToPem() + pem_;
  EXPECT_EQ(Certificate::FromPem(both)->fingerprint(), authority_.certificate.fingerprint());
  EXPECT_EQ(PrivateKey::FromPem(both)->Fingerprint(), authority_.certificate.key_fingerprint());
}

TEST_F(CertificateTest, SeveralInOneText) {
  const Certificate other = MakeAuthority("other", absl::Hours(1), kNow)->certificate;
  const auto both = ParseCertificates(ToPem({authority_.certificate, other}));
  ASSERT_THAT(both, IsOk());
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[1].fingerprint(), other.fingerprint());
}

TEST_F(CertificateTest, NonsenseIsRefused) {
  for (size_t size = 0; size < pem_.size() - 1; size += 7) {
    const std::string cut = pem_.substr(0, size);
    EXPECT_THAT(Certificate::FromPem(cut), HasCode(absl::StatusCode::kInvalidArgument)) << size;
    EXPECT_THAT(ParseCertificates(cut), HasCode(absl::StatusCode::kInvalidArgument)) << size;
    if (size > 40) {
      EXPECT_THAT(ParseCertificates(pem_ + cut), HasCode(absl::StatusCode::kInvalidArgument))
          << size;
    }
  }
  EXPECT_THAT(ParseCertificates(""), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(CertificateTest, TooManyAreRefused) {
  std::string pem;
  for (int i = 0; i < kCertificatesMax; ++i) pem += pem_;
  EXPECT_THAT(ParseCertificates(pem), IsOk());
  EXPECT_THAT(ParseCertificates(pem + pem_), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseCertificates(pem_ + std::string(kCertificatesPemBytesMax, '\n')),
              HasCode(absl::StatusCode::kInvalidArgument));
}

// Flipping bits must neither crash the reader nor give a certificate whose signature holds.
TEST_F(CertificateTest, ChangedBytesNeverVerify) {
  for (size_t at = 28; at + 26 < pem_.size(); ++at) {
    std::string changed = pem_;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    if (changed == pem_ || pem_[at] == '\n') continue;
    const auto read = Certificate::FromPem(changed);
    if (read.ok() && read->fingerprint() != authority_.certificate.fingerprint()) {
      EXPECT_FALSE(read->IsSignedBy(authority_.certificate)) << at;
    }
  }
}

// Two names, or a name with bytes that end strings elsewhere, must not be read as one of them.
TEST_F(CertificateTest, OddNamesAreNoNames) {
  const auto with_names = [&](std::initializer_list<std::string> names) {
    X509* const certificate = X509_dup(authority_.certificate.get());
    X509_NAME* const subject = X509_NAME_new();
    for (const std::string& name : names) {
      X509_NAME_add_entry_by_txt(subject, "CN", V_ASN1_UTF8STRING,
                                 reinterpret_cast<const unsigned char*>(name.data()),
                                 static_cast<int>(name.size()), -1, 0);
    }
    X509_set_subject_name(certificate, subject);
    X509_NAME_free(subject);
    return Certificate::Adopt(certificate)->common_name();
  };
  EXPECT_EQ(with_names({"host:a"}), "host:a");
  EXPECT_EQ(with_names({"host:a", "host:b"}), "");
  EXPECT_EQ(with_names({std::string("host:a\0b", 8)}), "");
  EXPECT_EQ(with_names({"host:\n"}), "");
  EXPECT_EQ(with_names({std::string(300, 'x')}), "");
  EXPECT_EQ(with_names({}), "");
}

}  // namespace
}  // namespace onefold::identity
