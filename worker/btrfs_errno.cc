#include "worker/btrfs_errno.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace onefold {

absl::Status StatusFromErrno(int error, absl::string_view what) {
  char buffer[128];
  const std::string message = absl::StrCat(what, ": ", strerror_r(error, buffer, sizeof(buffer)));
  switch (error) {
    case ENOENT:
    case ESTALE: return absl::NotFoundError(message);
    case EIO:
    case EUCLEAN:  // btrfs: bad metadata
      return absl::DataLossError(message);
    case EROFS:
    case ETXTBSY: return absl::FailedPreconditionError(message);
    case EPERM:
    case EACCES: return absl::PermissionDeniedError(message);
    case EAGAIN:
    case EBUSY:
    case EINTR: return absl::UnavailableError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return absl::ResourceExhaustedError(message);
    case ENOTTY:
    case EOPNOTSUPP:
    case ENOSYS: return absl::UnimplementedError(message);
    case EINVAL:
    case EOVERFLOW: return absl::InvalidArgumentError(message);
    default: return absl::UnknownError(message);
  }
}

}  // namespace onefold
