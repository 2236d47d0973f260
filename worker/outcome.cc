#include "worker/outcome.h"

namespace onefold {

const char* HolderName(Holder holder) {
  switch (holder) {
    case Holder::kNone: return "none";
    case Holder::kSnapshot: return "snapshot";
    case Holder::kOutsideFiles: return "outside_files";
    case Holder::kUnmatchedBlocks: return "unmatched_blocks";
    case Holder::kTail: return "tail";
    case Holder::kMetadata: return "metadata";
    case Holder::kExcluded: return "excluded";
    case Holder::kImmutable: return "immutable";
    case Holder::kReadonlySubvolume: return "readonly_subvolume";
    case Holder::kDeleted: return "deleted";
    case Holder::kSwapfile: return "swapfile";
    case Holder::kTooManyReferences: return "too_many_references";
    case Holder::kRefused: return "refused";
  }
  return "unknown";
}

}  // namespace onefold
