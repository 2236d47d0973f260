#include "worker/btrfs_errno.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

constexpr char kTooManyOpenFiles[] = "onefold/too-many-open-files";
constexpr char kOverQuota[] = "onefold/over-quota";

absl::Status Exhausted(absl::string_view message, const char* kind) {
  absl::Status status = absl::ResourceExhaustedError(message);
  status.SetPayload(kind, absl::Cord());
  return status;
}

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
    case ENOMEM: return absl::ResourceExhaustedError(message);
    case EDQUOT: return Exhausted(message, kOverQuota);
    case EMFILE:
    case ENFILE: return Exhausted(message, kTooManyOpenFiles);
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

bool IsOverQuota(const absl::Status& status) { return status.GetPayload(kOverQuota).has_value(); }

}  // namespace onefold
