// How many files this process may hold open: raised where that is allowed, and refused where it is
// too few, so that a run does not fail in the middle for want of a descriptor.

#ifndef ONEFOLD_CLI_OPEN_FILES_H_
#define ONEFOLD_CLI_OPEN_FILES_H_

#include <sys/resource.h>

#include "absl/status/status.h"

namespace onefold {

// Up to this the limit is raised; what our systemd units ask for.
inline constexpr rlim_t kOpenFilesWanted = 65536;
// What a run on one host needs: 25 to begin with (measured), two for each of 16 threads, 54 tables
// of the index and 16 of `state`.
inline constexpr rlim_t kOpenFilesMin = 128;

// `limit` with as many files as are wanted, if its hard limit lets it have them.
rlimit Raised(rlimit limit);

// FAILED_PRECONDITION, with what to do: `limit` is below kOpenFilesMin.
absl::Status CheckOpenFiles(const rlimit& limit);

// The same for this process.
void RaiseOpenFiles();
absl::Status CheckOpenFiles();

}  // namespace onefold

#endif  // ONEFOLD_CLI_OPEN_FILES_H_
