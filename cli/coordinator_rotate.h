// `onefold coordinator rotate-authority`: gives the fleet a new certificate authority.

#ifndef ONEFOLD_CLI_COORDINATOR_ROTATE_H_
#define ONEFOLD_CLI_COORDINATOR_ROTATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace onefold {

// Changes the authority of the coordinator on `state_directory`, which must not run meanwhile. With
// `distrust`, what the old one has signed is worth nothing any more: see
// identity::Authority::Rotate. Returns a sentence on what follows from it.
//
// FAILED_PRECONDITION  the coordinator runs, or has no authority yet; nothing was changed.
absl::StatusOr<std::string> RotateAuthority(const std::string& state_directory, bool distrust,
                                            absl::Time now);

}  // namespace onefold

#endif  // ONEFOLD_CLI_COORDINATOR_ROTATE_H_
