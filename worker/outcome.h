// What became of an extent, and what holds one that was left alone. Values are those of
// onefold.v1.Outcome and onefold.v1.Holder; what each means is told in proto/onefold/v1/plan.proto.

#ifndef ONEFOLD_WORKER_OUTCOME_H_
#define ONEFOLD_WORKER_OUTCOME_H_

namespace onefold {

enum class Outcome {
  kKept = 1,
  kFreed = 2,
  kGone = 3,
  kDiffers = 4,
  kPinned = 5,
  kOutOfScope = 6,
  kRetry = 7,
  kNoPartner = 8,
};

enum class Holder {
  kNone = 0,
  kSnapshot = 1,
  kOutsideFiles = 2,
  kUnmatchedBlocks = 3,
  kTail = 4,
  kMetadata = 5,
  kExcluded = 6,
  kImmutable = 7,
  kReadonlySubvolume = 8,
  kDeleted = 9,
  kSwapfile = 10,
  kTooManyReferences = 11,
  kRefused = 12,
};

// The holder's name in reports: "outside_files".
const char* HolderName(Holder holder);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_OUTCOME_H_
