// The only place where errno becomes a code.

#ifndef ONEFOLD_WORKER_BTRFS_ERRNO_H_
#define ONEFOLD_WORKER_BTRFS_ERRNO_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onefold {

// The code is chosen for the caller's next step (see docs/HACKING.md); the message is "what: text".
absl::Status StatusFromErrno(int error, absl::string_view what);

// Whether it came from EMFILE or ENFILE: what else is exhausted is no limit that somebody has set.
bool IsTooManyOpenFiles(const absl::Status& status);

// Whether it came from EDQUOT: a quota group's limit, not the filesystem's end.
bool IsOverQuota(const absl::Status& status);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_ERRNO_H_
