#include "common/identity/private_key.h"

#include <openssl/ec.h>
#include <openssl/pem.h>

#include "common/check.h"
#include "common/identity/openssl.h"
#include "common/identity/random.h"
#include "common/status_macros.h"

namespace onefold::identity {

absl::Status CheckKeyKind(const evp_pkey_st* key) {
  char group[64] = "";
  if (key == nullptr || EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
      EVP_PKEY_get_group_name(key, group, sizeof(group), nullptr) != 1 ||
      absl::string_view(group) != SN_X9_62_prime256v1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the key is not an elliptic-curve key on P-256");
  }
  return absl::OkStatus();
}

std::string KeyFingerprint(const evp_pkey_st* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  CHECK(size > 0);
  const std::string digest =
      Sha256({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

absl::StatusOr<PrivateKey> PrivateKey::Generate() {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  if (key == nullptr) return OpenSslFailure("making a key");
  return PrivateKey(std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free));
}

absl::StatusOr<PrivateKey> PrivateKey::FromPem(absl::string_view pem) {
  if (pem.size() > kPemBytesMax) return absl::InvalidArgumentError("the key is too long");
  const BioOwner bio = ReadingBio(pem);
  KeyOwner key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return MalformedError("no readable private key");
  RETURN_IF_ERROR(CheckKeyKind(key.get()));
  return PrivateKey(std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free));
}

std::string PrivateKey::ToPem() const {
  const BioOwner bio(BIO_new(BIO_s_secmem()));
  CHECK(PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                      nullptr) == 1);
  return BioText(bio.get());
}

std::string PrivateKey::Fingerprint() const { return KeyFingerprint(key_.get()); }

}  // namespace onefold::identity
