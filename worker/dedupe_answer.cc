#include "worker/dedupe_answer.h"

#include <linux/fs.h>

#include <cerrno>

namespace onefold {

DedupeAnswer ClassifyAnswer(int32_t status, int64_t bytes, int64_t length) {
  if (status == FILE_DEDUPE_RANGE_DIFFERS) return DedupeAnswer::kDiffers;
  if (status < 0) return ClassifyError(-status);
  if (status > 0) return DedupeAnswer::kRefused;  // no kernel says so today
  // Zero bytes for a request of more: nothing was done, and asking again would loop for ever.
  return bytes <= 0 && length > 0 ? DedupeAnswer::kNoProgress : DedupeAnswer::kSame;
}

DedupeAnswer ClassifyError(int error) {
  switch (error) {
    case EAGAIN:  // btrfs send reads the destination's subvolume
    case EBUSY:
    case EINTR: return DedupeAnswer::kBusy;
    case EINVAL:  // beyond end of file, or nodatasum against datasum
    case ENOENT:
    case ESTALE:
    case EISDIR:
    case ELOOP:
    case EBADF: return DedupeAnswer::kChanged;
    case EPERM:
    case EACCES: return DedupeAnswer::kImmutable;
    case ETXTBSY: return DedupeAnswer::kSwapfile;
    case EROFS: return DedupeAnswer::kReadOnly;
    case EXDEV: return DedupeAnswer::kOtherMount;
    case EIO:
    case EUCLEAN: return DedupeAnswer::kReadError;
    case ENOSPC: return DedupeAnswer::kNoSpace;
    case EDQUOT: return DedupeAnswer::kQuota;
    case ENOMEM: return DedupeAnswer::kNoMemory;
    case EMFILE:
    case ENFILE: return DedupeAnswer::kNoFiles;
    case ENOTTY:
    case EOPNOTSUPP:
    case ENOSYS: return DedupeAnswer::kUnsupported;
    default: return DedupeAnswer::kRefused;
  }
}

}  // namespace onefold
