// The address of a coordinator, as people write it. Pure.
//
//   nas1            port 7171
//   nas1:7200       [fe80::1]:7171
//   unix:/run/onefold/coordinator.sock

#ifndef ONEFOLD_CLI_FLEET_ADDRESS_H_
#define ONEFOLD_CLI_FLEET_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold {

inline constexpr int kCoordinatorPort = 7171;
inline constexpr char kCoordinatorSocket[] = "/run/onefold/coordinator.sock";

struct Address {
  std::string text;    // "nas1:7171", "[::1]:7171", "unix:/run/x"
  std::string target;  // for gRPC: "dns:///nas1:7171", "unix:/run/x"
  bool is_unix = false;
  // On this machine by its name: "localhost", 127.0.0.0/8, [::1].
  bool is_loopback = false;
};

// INVALID_ARGUMENT with what is wrong. At most 255 bytes.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_ADDRESS_H_
