#include "cli/fleet/connection.h"

#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<Connection> ChooseConnection(const ConnectionArguments& arguments,
                                            const ConnectionSources& sources) {
  Connection connection;
  if (!arguments.coordinator.empty()) {
    ASSIGN_OR_RETURN(connection.address, ParseAddress(arguments.coordinator), "--coordinator");
  } else if (!sources.environment_coordinator.empty()) {
    ASSIGN_OR_RETURN(connection.address, ParseAddress(sources.environment_coordinator),
                     "ONEFOLD_COORDINATOR");
  } else if (sources.bundle.has_value() && !sources.bundle->coordinator.empty()) {
    ASSIGN_OR_RETURN(connection.address, ParseAddress(sources.bundle->coordinator),
                     "the certificate bundle");
  } else {
    ASSIGN_OR_RETURN(connection.address,
                     ParseAddress(sources.socket_exists ? absl::StrCat("unix:", kCoordinatorSocket)
                                                        : "localhost"));
  }
  if (connection.address.is_unix) return connection;
  if (arguments.insecure) {
    if (!connection.address.is_loopback) {
      connection.warning =
          absl::StrCat("--insecure: everybody on the way to ", connection.address.text,
                       " can read and change what is said");
    }
    return connection;
  }
  if (sources.bundle.has_value()) {
    connection.identity = sources.bundle;
    return connection;
  }
  if (connection.address.is_loopback) return connection;
  return absl::FailedPreconditionError(absl::StrCat(
      connection.address.text,
      " wants to know who you are. An admin of the fleet makes a certificate for you with\n"
      "  onefold fleet user add NAME --role viewer\n"
      "and you keep it in ",
      DefaultBundlePath(),
      ", or say --identity FILE. On the coordinator's "
      "own host\nroot needs none: --coordinator unix:",
      kCoordinatorSocket));
}

std::string DefaultBundlePath() {
  const std::string config = Environment("XDG_CONFIG_HOME");
  if (!config.empty() && config.front() == '/') return absl::StrCat(config, "/onefold/user.pem");
  const std::string home = Environment("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.config/onefold/user.pem");
}

absl::StatusOr<Connection> FindConnection(const ConnectionArguments& arguments) {
  ConnectionSources sources;
  sources.environment_coordinator = Environment("ONEFOLD_COORDINATOR");
  std::string file = arguments.identity_file;
  if (file.empty()) file = Environment("ONEFOLD_IDENTITY");
  const bool is_default = file.empty();
  if (is_default) file = DefaultBundlePath();
  if (!file.empty()) {
    absl::StatusOr<UserBundle> bundle = ReadUserBundle(file);
    if (bundle.ok()) {
      sources.bundle = *std::move(bundle);
    } else if (!is_default || !absl::IsNotFound(bundle.status())) {
      return bundle.status();
    }
  }
  struct stat status = {};
  sources.socket_exists = stat(kCoordinatorSocket, &status) == 0 && S_ISSOCK(status.st_mode);
  return ChooseConnection(arguments, sources);
}

}  // namespace onefold
