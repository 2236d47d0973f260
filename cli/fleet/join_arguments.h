// The command line of `onefold fleet join` as values. Pure.

#ifndef ONEFOLD_CLI_FLEET_JOIN_ARGUMENTS_H_
#define ONEFOLD_CLI_FLEET_JOIN_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/identity/join_token.h"
#include "common/identity/network_address.h"

namespace onefold {

struct JoinArguments {
  identity::JoinToken token;
  HostAndPort coordinator;
  std::vector<std::string> allow;  // absolute, without "." and ".."
  std::string name;                // empty: not given
  std::string state_directory;     // absolute; empty: not given
  std::string config_file;         // empty: not given
  bool rejoin = false;
  bool if_needed = false;
  bool json = false;
};

// `arguments`: what follows `onefold fleet join`. INVALID_ARGUMENT with what is wrong; the token is
// not repeated.
absl::StatusOr<JoinArguments> ParseJoin(const std::vector<std::string>& arguments);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_JOIN_ARGUMENTS_H_
