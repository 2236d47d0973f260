// What the kernel's answers to FIDEDUPERANGE mean. One table, tested row by row.
//
// Source: ioctl_fideduperange(2), fs/remap_range.c, fs/btrfs/reflink.c; each row that this kernel
// can show has a test that asks it (tests/btrfs).

#ifndef ONEFOLD_WORKER_DEDUPE_ANSWER_H_
#define ONEFOLD_WORKER_DEDUPE_ANSWER_H_

#include <cstdint>

namespace onefold {

enum class DedupeAnswer {
  kSame,         // shared now
  kDiffers,      // the kernel compared and found different bytes
  kNoProgress,   // "same" for zero bytes: killed, or nothing left of the range
  kBusy,         // may work later: the destination is being sent, an operation was interrupted
  kChanged,      // the range does not fit the file any more, or the file is gone
  kImmutable,    // immutable or append-only file, or no permission
  kSwapfile,     // active swap file
  kReadOnly,     // the mount (or the filesystem, after an error) is read-only
  kOtherMount,   // source and destination are not on one filesystem for this kernel
  kReadError,    // checksum or device error while comparing
  kNoSpace,      // no room for metadata
  kQuota,        // a quota group has reached its limit
  kNoMemory,     // the kernel could not allocate
  kNoFiles,      // this process, or all together, may open no further file
  kUnsupported,  // no FIDEDUPERANGE here
  kRefused,      // anything else
  kStopped,      // not asked: the run is ending
};

// `status`: 0, 1 (differs) or a negative errno, of one destination. `bytes`: what the kernel says
// it did; `length`: what was asked.
DedupeAnswer ClassifyAnswer(int32_t status, int64_t bytes, int64_t length);

// `error`: errno of the call as a whole, or of opening one of the files.
DedupeAnswer ClassifyError(int error);

// Worth asking again soon.
inline bool IsTransient(DedupeAnswer answer) {
  return answer == DedupeAnswer::kBusy || answer == DedupeAnswer::kNoMemory ||
         answer == DedupeAnswer::kNoFiles;
}

// Every further request would be answered the same.
inline bool IsFatal(DedupeAnswer answer) {
  return answer == DedupeAnswer::kUnsupported || answer == DedupeAnswer::kNoSpace ||
         answer == DedupeAnswer::kQuota || answer == DedupeAnswer::kReadOnly;
}

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DEDUPE_ANSWER_H_
