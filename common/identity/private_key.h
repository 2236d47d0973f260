// PrivateKey: an elliptic-curve key on P-256, the one kind that is used and accepted here.

#ifndef ONEFOLD_COMMON_IDENTITY_PRIVATE_KEY_H_
#define ONEFOLD_COMMON_IDENTITY_PRIVATE_KEY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace onefold::identity {

// PEM texts of keys, requests and single certificates are below 2 KiB; what is far above is
// hostile.
inline constexpr size_t kPemBytesMax = 16 * 1024;

// A value; copies share one key. Thread-safe, as it never changes.
class PrivateKey {
 public:
  static absl::StatusOr<PrivateKey> Generate();

  // The first private key in `pem`, which may hold certificates beside it.
  // INVALID_ARGUMENT: none, encrypted, of another kind, or longer than kPemBytesMax.
  static absl::StatusOr<PrivateKey> FromPem(absl::string_view pem);

  // PKCS#8, not encrypted.
  std::string ToPem() const;

  // SHA-256 of the public key (SubjectPublicKeyInfo): 32 raw bytes. The same for a request and a
  // certificate of this key.
  std::string Fingerprint() const;

  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  std::shared_ptr<evp_pkey_st> key_;
};

// SHA-256 of a public key's SubjectPublicKeyInfo. Of any kind of key.
std::string KeyFingerprint(const evp_pkey_st* key);

// INVALID_ARGUMENT unless `key` is on P-256.
absl::Status CheckKeyKind(const evp_pkey_st* key);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_PRIVATE_KEY_H_
