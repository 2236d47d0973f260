#include "cli/coordinator_rotate.h"

#include <unistd.h>

#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/identity/authority.h"
#include "coordinator/state_directory.h"

namespace onefold {

absl::StatusOr<std::string> RotateAuthority(const std::string& state_directory, bool distrust,
                                            absl::Time now) {
  const std::string directory = state_directory + "/identity";
  if (access((directory + "/authority.pem").c_str(), F_OK) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no authority in ", directory, " that could be changed"));
  }
  ASSIGN_OR_RETURN(const index::DirectoryLock lock, index::DirectoryLock::Take(state_directory),
                   "the coordinator must not run while its authority is changed");
  // The names come back with the coordinator's next start.
  ASSIGN_OR_RETURN(const std::unique_ptr<identity::Authority> authority,
                   identity::Authority::Open(directory, {}, now));
  RETURN_IF_ERROR(authority->Rotate(distrust, now));
  const std::string fingerprint = absl::BytesToHexString(authority->fingerprint());
  return absl::StrCat(
      "The fleet has a new authority (SHA-256 ", fingerprint, ").\n",
      distrust ? "Every host has to join again (--rejoin), and every person needs a new "
                 "certificate; until then\nonly the coordinator's Unix socket lets anybody in.\n"
               : "Hosts and people go on with what they have; hosts learn of it when they renew "
                 "their certificates.\n");
}

}  // namespace onefold
