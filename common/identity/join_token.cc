#include "common/identity/join_token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace onefold::identity {
namespace {

constexpr absl::string_view kPrefix = "of1-";
constexpr size_t kFingerprintBytes = 32;
constexpr size_t kTextBytes = 64;  // of kTokenSecretBytes + kFingerprintBytes in base64
static_assert(kTextBytes * 3 == (kTokenSecretBytes + kFingerprintBytes) * 4);

}  // namespace

std::string ToText(const JoinToken& token) {
  return absl::StrCat(kPrefix,
                      absl::WebSafeBase64Escape(token.secret + token.authority_fingerprint));
}

absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text) {
  std::string bytes;
  if (!absl::ConsumePrefix(&text, kPrefix) || text.size() != kTextBytes ||
      !absl::WebSafeBase64Unescape(text, &bytes) ||
      bytes.size() != kTokenSecretBytes + kFingerprintBytes) {
    return absl::InvalidArgumentError(absl::StrCat("this is no join token (\"", kPrefix, "\" and ",
                                                   kTextBytes, " characters): copy all of it"));
  }
  return JoinToken{.secret = bytes.substr(0, kTokenSecretBytes),
                   .authority_fingerprint = bytes.substr(kTokenSecretBytes)};
}

std::string SecretToText(absl::string_view secret) { return absl::BytesToHexString(secret); }

absl::StatusOr<std::string> ParseSecret(absl::string_view text) {
  if (text.size() != 2 * kTokenSecretBytes ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isxdigit)) {
    return absl::InvalidArgumentError("malformed token");
  }
  return absl::HexStringToBytes(text);
}

}  // namespace onefold::identity
