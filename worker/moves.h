// From "this extent's data also lies there" to the exact ranges the kernel is asked to share.
//
// A SourceMap tells where the data of an extent can be read from: ranges of files. PlanMoves covers
// every reference of the extent with such ranges, or says why one cannot be. Pure; any thread.

#ifndef ONEFOLD_WORKER_MOVES_H_
#define ONEFOLD_WORKER_MOVES_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "worker/extent_view.h"
#include "worker/outcome.h"
#include "worker/volume.h"

namespace onefold {

// The data [begin, end) of an extent (uncompressed bytes) lies in `file` from `file_offset` on.
struct SourceRange {
  int64_t begin = 0;
  int64_t end = 0;
  InodeId file;
  int64_t file_offset = 0;
  int64_t file_bytes = 0;  // size of `file`
};
using SourceMap = std::vector<SourceRange>;

// One (source, destination) pair. `length` is a multiple of the block size unless both ranges end
// at the end of their files.
struct Move {
  InodeId source;
  int64_t source_offset = 0;
  InodeId destination;
  int64_t destination_offset = 0;
  int64_t length = 0;
  // The data lies nowhere else: it is written anew, as read from `source`, and shared from there.
  bool relocated = false;
};

// On-disk bytes that `moves` write anew; what several of them share is written once.
int64_t WrittenBytes(const std::vector<Move>& moves, int64_t block_bytes);

// Moves that cover all references of `drop`, or what is in the way: kTail if only a partial last
// block is, kUnmatchedBlocks otherwise. References that refer to nothing below the end of their
// file are in the way too. What no source covers is written anew if that is at most
// `written_bytes_max`.
std::variant<std::vector<Move>, Holder> PlanMoves(const ExtentView& drop, const SourceMap& sources,
                                                  int64_t block_bytes,
                                                  int64_t written_bytes_max = 0);

// The source ranges that the references of `keep` offer, in the coordinates of an extent whose
// block 0 lies at byte `shift` of `keep` (0 for an equal extent).
SourceMap SourcesOf(const ExtentView& keep, int64_t shift = 0);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_MOVES_H_
