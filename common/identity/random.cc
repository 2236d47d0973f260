#include "common/identity/random.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "common/check.h"

namespace onefold::identity {
namespace {

constexpr size_t kSha256Bytes = 32;

unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  CHECK(RAND_bytes(Bytes(bytes), static_cast<int>(size)) == 1);
  return bytes;
}

std::string Sha256(absl::string_view bytes) {
  std::string digest(kSha256Bytes, '\0');
  CHECK(EVP_Digest(bytes.data(), bytes.size(), Bytes(digest), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string HmacSha256(absl::string_view key, absl::string_view bytes) {
  std::string digest(kSha256Bytes, '\0');
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(bytes), bytes.size(),
             Bytes(digest), nullptr) != nullptr);
  return digest;
}

bool EqualSecrets(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace onefold::identity
