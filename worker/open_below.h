// Opening what lies below an open directory, and nothing else: no symlink is followed, no mount
// point is crossed, ".." does not exist. Whoever may write in the directories in between can make
// it fail, but not lead it elsewhere.

#ifndef ONEFOLD_WORKER_OPEN_BELOW_H_
#define ONEFOLD_WORKER_OPEN_BELOW_H_

#include <string>

#include "worker/fd_file.h"

namespace onefold {

// Opens `path` (relative, of any length, "" for the directory itself) with O_NOFOLLOW, O_NONBLOCK,
// O_NOCTTY, O_CLOEXEC and `flags`. -1 with errno: ELOOP for a symlink, EXDEV for a mount point.
Fd OpenBelow(int directory, const std::string& path, int flags);

// Opens an absolute path with the same flags, following no symlink in any of its parts: it was
// resolved a moment ago, and whoever can write above it must not lead us elsewhere meanwhile.
Fd OpenResolved(const std::string& path, int flags);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_OPEN_BELOW_H_
