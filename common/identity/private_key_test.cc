#include "common/identity/private_key.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <string>

#include "common/identity/certificate_request.h"
#include "common/identity/openssl.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

std::string PemOf(EVP_PKEY* key, const EVP_CIPHER* cipher) {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, cipher, "secret", 6, nullptr, nullptr);
  return BioText(bio.get());
}

TEST(PrivateKeyTest, SurvivesItsText) {
  const auto key = PrivateKey::Generate();
  ASSERT_THAT(key, IsOk());
  const auto read = PrivateKey::FromPem(key->ToPem());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->Fingerprint(), key->Fingerprint());
  EXPECT_EQ(key->Fingerprint().size(), 32u);
  EXPECT_NE(PrivateKey::Generate()->Fingerprint(), key->Fingerprint());
}

// Weak or exotic keys, and such as would ask for a passphrase, are no keys.
TEST(PrivateKeyTest, OtherKindsAreRefused) {
  const KeyOwner rsa(EVP_RSA_gen(1024));
  const KeyOwner other_curve(EVP_EC_gen("secp256k1"));
  const KeyOwner good(EVP_EC_gen("P-256"));
  for (const std::string& pem : {PemOf(rsa.get(), nullptr), PemOf(other_curve.get(), nullptr),
                                 PemOf(good.get(), EVP_aes_128_cbc())}) {
    EXPECT_THAT(PrivateKey::FromPem(pem), HasCode(absl::StatusCode::kInvalidArgument));
  }
}

TEST(PrivateKeyTest, NonsenseIsRefused) {
  const std::string pem = PrivateKey::Generate()->ToPem();
  for (size_t size = 0; size < pem.size() - 1; size += 7) {
    EXPECT_THAT(PrivateKey::FromPem(pem.substr(0, size)),
                HasCode(absl::StatusCode::kInvalidArgument))
        << size;
  }
  EXPECT_THAT(PrivateKey::FromPem(std::string(kPemBytesMax, '\n') + pem),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PrivateKey::FromPem(std::string(1000, '\0')),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(CertificateRequestTest, CarriesTheKey) {
  const PrivateKey key = *PrivateKey::Generate();
  const auto pem = MakeCertificateRequest(key);
  ASSERT_THAT(pem, IsOk());
  const auto request = CertificateRequest::FromPem(*pem);
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->key_fingerprint(), key.Fingerprint());
}

// Who has no private key cannot have somebody else's public key signed.
TEST(CertificateRequestTest, ForeignKeyIsRefused) {
  const PrivateKey theirs = *PrivateKey::Generate();
  const PrivateKey mine = *PrivateKey::Generate();
  const RequestOwner request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), theirs.get());
  X509_REQ_sign(request.get(), mine.get(), EVP_sha256());
  const BioOwner bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(bio.get(), request.get());
  EXPECT_THAT(CertificateRequest::FromPem(BioText(bio.get())),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(CertificateRequestTest, NonsenseIsRefused) {
  const std::string pem = *MakeCertificateRequest(*PrivateKey::Generate());
  for (size_t size = 0; size < pem.size() - 1; size += 5) {
    EXPECT_THAT(CertificateRequest::FromPem(pem.substr(0, size)),
                HasCode(absl::StatusCode::kInvalidArgument))
        << size;
  }
  // Every change of a byte is noticed, or changes nothing (PEM forgives some of its armour).
  const std::string fingerprint = CertificateRequest::FromPem(pem)->key_fingerprint();
  for (size_t at = 0; at < pem.size(); at += 3) {
    std::string changed = pem;
    changed[at] = static_cast<char>(changed[at] ^ 0x01);
    const auto read = CertificateRequest::FromPem(changed);
    if (read.ok()) {
      EXPECT_EQ(read->key_fingerprint(), fingerprint) << at;
    }
  }
  EXPECT_THAT(CertificateRequest::FromPem(std::string(kPemBytesMax + 1, 'A')),
              HasCode(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace onefold::identity
