// `onefold coordinator backup` and `… restore`: what cannot be made again (state and identity), in
// a directory of its own. The index is not part of it: see docs/decisions.

#ifndef ONEFOLD_CLI_COORDINATOR_BACKUP_H_
#define ONEFOLD_CLI_COORDINATOR_BACKUP_H_

#include <string>

#include "absl/status/status.h"

namespace onefold {

// Makes `directory`, which must be absent, a backup of the coordinator on `state_directory`,
// whether that runs or not. There is either a whole backup or none.
//
// ALREADY_EXISTS       `directory` is there.
// FAILED_PRECONDITION  there is no coordinator's state.
absl::Status BackUpCoordinator(const std::string& state_directory, const std::string& directory);

// Makes `state_directory` what it was. No coordinator may run there.
//
// FAILED_PRECONDITION  `directory` is no backup, or there is a state already.
absl::Status RestoreCoordinator(const std::string& directory, const std::string& state_directory);

// Where a running coordinator listens for its own machine's administrator.
std::string ControlSocket(const std::string& state_directory);

}  // namespace onefold

#endif  // ONEFOLD_CLI_COORDINATOR_BACKUP_H_
