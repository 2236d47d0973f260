// Random bytes fit for secrets, and digests of secrets.

#ifndef ONEFOLD_COMMON_IDENTITY_RANDOM_H_
#define ONEFOLD_COMMON_IDENTITY_RANDOM_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace onefold::identity {

// `size` bytes from the system's generator. Ends the process if there is none.
std::string RandomBytes(size_t size);

// 32 raw bytes.
std::string Sha256(absl::string_view bytes);
std::string HmacSha256(absl::string_view key, absl::string_view bytes);

// Takes equally long wherever the difference is.
bool EqualSecrets(absl::string_view a, absl::string_view b);

}  // namespace onefold::identity

#endif  // ONEFOLD_COMMON_IDENTITY_RANDOM_H_
