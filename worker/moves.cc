#include "worker/moves.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace onefold {
namespace {

int64_t AlignDown(int64_t value, int64_t block_bytes) { return value / block_bytes * block_bytes; }

// How many bytes from `at` on the kernel would take from `source` for a destination that still
// needs `wanted` bytes (a multiple of the block size unless it ends at the end of its file).
int64_t Usable(const SourceRange& source, int64_t at, int64_t wanted, int64_t block_bytes) {
  if (at < source.begin || at >= source.end) return 0;
  const int64_t into = at - source.begin;
  const int64_t to_file_end = source.file_bytes - (source.file_offset + into);
  const int64_t available = std::min(source.end - at, to_file_end);
  if (wanted % block_bytes != 0 && wanted == to_file_end && wanted <= source.end - at)
    return wanted;
  return AlignDown(std::min(available, wanted), block_bytes);
}

// Where a source begins that has the data from there on; `end` if none does.
int64_t GapEnd(const SourceMap& sources, int64_t at, int64_t end, int64_t block_bytes) {
  int64_t gap_end = end;
  for (const SourceRange& source : sources) {
    if (source.begin > at && source.begin < gap_end &&
        Usable(source, source.begin, end - source.begin, block_bytes) > 0) {
      gap_end = source.begin;
    }
  }
  return gap_end;
}

int64_t AlignUp(int64_t value, int64_t block_bytes) {
  return AlignDown(value + block_bytes - 1, block_bytes);
}

}  // namespace

int64_t WrittenBytes(const std::vector<Move>& moves, int64_t block_bytes) {
  std::set<std::tuple<InodeId, int64_t, int64_t>> written;
  int64_t bytes = 0;
  for (const Move& move : moves) {
    if (move.relocated && written.emplace(move.source, move.source_offset, move.length).second) {
      bytes += AlignUp(move.length, block_bytes);
    }
  }
  return bytes;
}

std::variant<std::vector<Move>, Holder> PlanMoves(const ExtentView& drop, const SourceMap& sources,
                                                  int64_t block_bytes, int64_t written_bytes_max) {
  std::vector<Move> moves;
  // What is written anew, [begin, end) of the extent: the file and offset it is read from. All
  // references to the same part share it.
  std::map<std::pair<int64_t, int64_t>, std::pair<InodeId, int64_t>> written;
  int64_t written_bytes = 0;
  // A fragmented file has thousands of references and as many sources, in the same order: the
  // one behind the last is tried first.
  size_t hint = 0;
  for (const Reference& reference : drop.references) {
    const int64_t file_left = reference.file_bytes - reference.file_offset;
    // Blocks wholly behind the end of the file cannot be named in a request.
    if (file_left <= AlignDown(reference.length - 1, block_bytes)) return Holder::kTail;
    const int64_t end = reference.extent_offset + std::min(reference.length, file_left);
    for (int64_t at = reference.extent_offset; at < end;) {
      const SourceRange* best = nullptr;
      int64_t best_bytes = 0;
      const auto take = [&](const SourceRange& source) {
        const int64_t bytes = Usable(source, at, end - at, block_bytes);
        if (bytes > best_bytes) {
          best = &source;
          best_bytes = bytes;
        }
        return best_bytes == end - at;
      };
      // One source for as many references as it covers: they share calls.
      if (!sources.empty() && !take(sources.front()) &&
          (hint >= sources.size() || !take(sources[hint]))) {
        std::find_if(sources.begin(), sources.end(), take);
      }
      if (best == nullptr) {
        const int64_t gap_end = GapEnd(sources, at, end, block_bytes);
        const int64_t file_offset = reference.file_offset + (at - reference.extent_offset);
        const auto [place, is_new] =
            written.try_emplace({at, gap_end}, std::make_pair(reference.file, file_offset));
        if (is_new) written_bytes += AlignUp(gap_end - at, block_bytes);
        if (written_bytes > written_bytes_max) {
          return end - at < block_bytes ? Holder::kTail : Holder::kUnmatchedBlocks;
        }
        moves.push_back({.source = place->second.first,
                         .source_offset = place->second.second,
                         .destination = reference.file,
                         .destination_offset = file_offset,
                         .length = gap_end - at,
                         .relocated = true});
        at = gap_end;
        continue;
      }
      moves.push_back({.source = best->file,
                       .source_offset = best->file_offset + (at - best->begin),
                       .destination = reference.file,
                       .destination_offset = reference.file_offset + (at - reference.extent_offset),
                       .length = best_bytes});
      at += best_bytes;
      hint = static_cast<size_t>(best - sources.data()) + 1;
    }
  }
  return moves;
}

SourceMap SourcesOf(const ExtentView& keep, int64_t shift) {
  SourceMap sources;
  for (const Reference& reference : keep.references) {
    if (!reference.is_source) continue;
    sources.push_back({.begin = reference.extent_offset - shift,
                       .end = reference.extent_end() - shift,
                       .file = reference.file,
                       .file_offset = reference.file_offset,
                       .file_bytes = reference.file_bytes});
  }
  return sources;
}

}  // namespace onefold
