// Keys of the rows about identities in the database `state`.
//
//   key := It sha256(secret):32     a join token            value: JoinTokenRecord
//        | Ih host id               a host that has joined  value: HostIdentityRecord
//        | Iu name                  a person                value: UserRecord
//        | Ir subject               a revocation            value: RevocationRecord
//        | Is sha256(secret):32     a token for the page    value: SignInTokenRecord
//        | Iw sha256(secret):32     a session of the page   value: WebSessionRecord
//   subject := "host:" host id | "serial:" serial number in lower-case hexadecimal
//
// The values are of onefold.storage.v1. Frozen: identity_keys_test.cc holds the bytes.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_KEYS_H_
#define ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_KEYS_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onefold::identity {

inline constexpr absl::string_view kTokenPrefix = "It";
inline constexpr absl::string_view kHostRowPrefix = "Ih";
inline constexpr absl::string_view kUserRowPrefix = "Iu";
inline constexpr absl::string_view kRevocationPrefix = "Ir";
inline constexpr absl::string_view kSignInPrefix = "Is";
inline constexpr absl::string_view kSessionPrefix = "Iw";

inline std::string TokenKey(absl::string_view digest) { return absl::StrCat(kTokenPrefix, digest); }
inline std::string HostKey(absl::string_view id) { return absl::StrCat(kHostRowPrefix, id); }
inline std::string UserKey(absl::string_view name) { return absl::StrCat(kUserRowPrefix, name); }
inline std::string RevocationKey(absl::string_view subject) {
  return absl::StrCat(kRevocationPrefix, subject);
}

inline std::string SignInKey(absl::string_view digest) {
  return absl::StrCat(kSignInPrefix, digest);
}
inline std::string SessionKey(absl::string_view digest) {
  return absl::StrCat(kSessionPrefix, digest);
}

inline std::string HostSubject(absl::string_view id) { return absl::StrCat("host:", id); }
inline std::string SerialSubject(absl::string_view serial) {
  return absl::StrCat("serial:", serial);
}

}  // namespace onefold::identity

#endif  // ONEFOLD_COORDINATOR_IDENTITY_IDENTITY_KEYS_H_
