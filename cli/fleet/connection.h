// Which coordinator a command of the fleet speaks to, and how: flag over environment over the
// person's bundle over what is found on this machine. Pure but for FindConnection.

#ifndef ONEFOLD_CLI_FLEET_CONNECTION_H_
#define ONEFOLD_CLI_FLEET_CONNECTION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/fleet/address.h"
#include "cli/fleet/user_bundle.h"

namespace onefold {

// From the command line; empty: not given.
struct ConnectionArguments {
  std::string coordinator;
  std::string identity_file;
  bool insecure = false;
};

// From around the command line.
struct ConnectionSources {
  std::string environment_coordinator;  // ONEFOLD_COORDINATOR; empty: not set
  std::optional<UserBundle> bundle;
  bool socket_exists = false;  // kCoordinatorSocket
};

struct Connection {
  Address address;
  // Whose certificate is shown; unset: plain text.
  std::optional<UserBundle> identity;
  // For the person; empty if there is nothing to say.
  std::string warning;
};

// INVALID_ARGUMENT a malformed address; FAILED_PRECONDITION a certificate is needed: the message
// says how to get one.
absl::StatusOr<Connection> ChooseConnection(const ConnectionArguments& arguments,
                                            const ConnectionSources& sources);

// $XDG_CONFIG_HOME/onefold/user.pem or ~/.config/onefold/user.pem; empty if there is no home.
std::string DefaultBundlePath();

// ChooseConnection with the environment and the files of this process.
absl::StatusOr<Connection> FindConnection(const ConnectionArguments& arguments);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_CONNECTION_H_
