#include "worker/btrfs_errno.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

constexpr char kTooManyOpenFiles[] = "onefold/too-many-open-files";

}  // namespace

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
    case ENOMEM: return absl::ResourceExhaustedError(message);
    case EMFILE:
    case ENFILE: {
      absl::Status status = absl::ResourceExhaustedError(message);
      status.SetPayload(kTooManyOpenFiles, absl::Cord());
      return status;
    }
    case ENOTTY:
    case EOPNOTSUPP:
    case ENOSYS: return absl::UnimplementedError(message);
    case EINVAL:
    case EOVERFLOW: return absl::InvalidArgumentError(message);
    default: return absl::UnknownError(message);
  }
}

bool IsTooManyOpenFiles(const absl::Status& status) {
  return status.GetPayload(kTooManyOpenFiles).has_value();
}

}  // namespace onefold
