// The text with which a host joins: a secret that is good once, and the fingerprint of the
// authority by which the host recognises the coordinator.
//
//   token := "of1-" base64url(secret:16 fingerprint:32)      68 characters, no padding
//
// Begins with a letter and a fixed word: it is no option on a command line, and scanners for leaked
// secrets can find it.

#ifndef ONEFOLD_COMMON_IDENTITY_JOIN_TOKEN_H_
#define ONEFOLD_COMMON_IDENTITY_JOIN_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold::identity {

inline constexpr size_t kTokenSecretBytes = 16;  // nobody guesses 128 bits

struct JoinToken {
  std::string secret;                 // kTokenSecretBytes raw bytes
  std::string authority_fingerprint;  // Certificate::fingerprint()
};

std::string ToText(const JoinToken& token);

// INVALID_ARGUMENT: it is none. The message does not repeat the text: it may hold most of a secret.
absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text);

// The secret as JoinRequest carries it.
std::string SecretToText(absl::string_view secret);
// INVALID_ARGUMENT: it is none.
absl::StatusOr<std::string> ParseSecret(absl::string_view text);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_JOIN_TOKEN_H_
