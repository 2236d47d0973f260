// Addresses as people and gRPC write them: "host:port", "[::1]:7171", "unix:/path".

#ifndef ONEFOLD_COMMON_IDENTITY_NETWORK_ADDRESS_H_
#define ONEFOLD_COMMON_IDENTITY_NETWORK_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct HostAndPort {
  std::string host;  // a name or an address, without brackets
  int port = 0;      // 1 to 65535
};

// INVALID_ARGUMENT: not "host:port" (an IPv6 address needs brackets), or odd characters in it.
absl::StatusOr<HostAndPort> ParseHostAndPort(absl::string_view address);

// "host:port", with brackets where they are needed.
std::string ToString(const HostAndPort& address);

// Whether `address` is "unix:…", which stays on this machine.
bool IsUnixAddress(absl::string_view address);

// The one rule of plain text: only where no network lies between. A Unix socket, 127.0.0.0/8, ::1
// and the name localhost; everything else needs TLS, or somebody who says --insecure.
bool PlainTextAllowed(absl::string_view address);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_IDENTITY_NETWORK_ADDRESS_H_
