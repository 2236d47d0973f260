#include "worker/walk_map.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace onefold {

void WalkMap::IndexFiles(uint32_t file_count) {
  first_mapping_.assign(size_t{file_count} + 1, 0);
  for (const WalkMapping& mapping : mappings_) ++first_mapping_[mapping.file + 1];
  std::partial_sum(first_mapping_.begin(), first_mapping_.end(), first_mapping_.begin());
}

void WalkMap::IndexReferences() {
  for (WalkPiece& piece : pieces_) piece.first_reference = 0;
  const auto for_each = [&](const auto& visit) {
    for (uint32_t i = 0; i < mappings_.size(); ++i) {
      for (size_t at = FirstPieceAt(mappings_[i].address);
           at < pieces_.size() && pieces_[at].address < mappings_[i].end(); ++at) {
        visit(at, i);
      }
    }
  };
  std::vector<uint32_t> next(pieces_.size() + 1, 0);
  for_each([&](size_t piece, uint32_t) { ++next[piece + 1]; });
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i].first_reference = next[i];
  references_.assign(next.back(), 0);
  for_each([&](size_t piece, uint32_t mapping) { references_[next[piece]++] = mapping; });
}

absl::Span<const WalkMapping> WalkMap::MappingsOf(uint32_t file) const {
  return absl::MakeConstSpan(mappings_).subspan(first_mapping_[file],
                                                first_mapping_[file + 1] - first_mapping_[file]);
}

absl::Span<const uint32_t> WalkMap::ReferencesOf(size_t piece) const {
  const size_t begin = pieces_[piece].first_reference;
  const size_t end =
      piece + 1 < pieces_.size() ? pieces_[piece + 1].first_reference : references_.size();
  return absl::MakeConstSpan(references_).subspan(begin, end - begin);
}

size_t WalkMap::FirstPieceAt(uint64_t address) const {
  const auto found =
      std::upper_bound(pieces_.begin(), pieces_.end(), address,
                       [](uint64_t at, const WalkPiece& piece) { return at < piece.end(); });
  return static_cast<size_t>(found - pieces_.begin());
}

size_t WalkMap::FindPiece(uint64_t address) const {
  const size_t piece = FirstPieceAt(address);
  return piece < pieces_.size() && pieces_[piece].address == address ? piece : pieces_.size();
}

WalkMap::Part WalkMap::PartOf(const WalkMapping& mapping, size_t piece) const {
  const uint64_t begin = std::max(mapping.address, pieces_[piece].address);
  const uint64_t end = std::min(mapping.end(), pieces_[piece].end());
  return {.piece = piece,
          .file_offset = mapping.OffsetAt(begin),
          .piece_offset = begin - pieces_[piece].address,
          .length = end - begin};
}

void WalkMap::ForEachPart(uint32_t file, uint64_t offset,
                          const std::function<bool(const Part&)>& visit) const {
  const absl::Span<const WalkMapping> mappings = MappingsOf(file);
  auto mapping = std::upper_bound(mappings.begin(), mappings.end(), offset,
                                  [](uint64_t at, const WalkMapping& candidate) {
                                    return at < candidate.file_offset + candidate.length;
                                  });
  for (; mapping != mappings.end(); ++mapping) {
    const uint64_t from =
        mapping->address + (offset > mapping->file_offset ? offset - mapping->file_offset : 0);
    for (size_t piece = FirstPieceAt(from);
         piece < pieces_.size() && pieces_[piece].address < mapping->end(); ++piece) {
      const Part part = PartOf(*mapping, piece);
      if (part.file_offset >= offset && !visit(part)) return;
    }
  }
}

int64_t WalkMap::BytesRead() const {
  int64_t bytes = 0;
  for (const WalkPiece& piece : pieces_) bytes += piece.is_read() ? piece.length : 0;
  return bytes;
}

bool WalkMap::CopyChecksums(uint32_t file, uint64_t offset, uint64_t length,
                            const ChecksumStore& store, std::string& out) const {
  const absl::Span<const WalkMapping> mappings = MappingsOf(file);
  auto mapping = std::upper_bound(mappings.begin(), mappings.end(), offset,
                                  [](uint64_t at, const WalkMapping& candidate) {
                                    return at < candidate.file_offset + candidate.length;
                                  });
  const uint64_t end = offset + length;
  for (; offset < end && mapping != mappings.end() && mapping->file_offset <= offset; ++mapping) {
    const uint64_t mapping_end = std::min(end, mapping->file_offset + mapping->length);
    while (offset < mapping_end) {
      const uint64_t address = mapping->address + (offset - mapping->file_offset);
      const size_t at = FirstPieceAt(address);
      if (at == pieces_.size() || pieces_[at].address > address || !pieces_[at].is_read()) {
        return false;
      }
      const uint64_t bytes = std::min(mapping_end - offset, pieces_[at].end() - address);
      const absl::string_view known =
          store.At(pieces_[at].checksum_at, pieces_[at].length / block_bytes_ * kChecksumBytes)
              .substr((address - pieces_[at].address) / block_bytes_ * kChecksumBytes,
                      bytes / block_bytes_ * kChecksumBytes);
      out.append(known.data(), known.size());
      offset += bytes;
    }
  }
  return offset == end;
}

std::vector<WalkMap::Range> WalkMap::Unchanged(const WalkMap& old,
                                               absl::Span<const uint32_t> old_file) const {
  std::vector<Range> ranges;
  for (uint32_t file = 0; file < file_count(); ++file) {
    if (old_file[file] == kNoFile) continue;
    const absl::Span<const WalkMapping> before = old.MappingsOf(old_file[file]);
    auto known = before.begin();
    for (const WalkMapping& mapping : MappingsOf(file)) {
      const uint64_t end = mapping.file_offset + mapping.length;
      while (known != before.end() && known->file_offset + known->length <= mapping.file_offset) {
        ++known;
      }
      for (auto at = known; at != before.end() && at->file_offset < end; ++at) {
        if (at->address - at->file_offset != mapping.address - mapping.file_offset) continue;
        const uint64_t from = std::max(at->file_offset, mapping.file_offset);
        const uint64_t to = std::min(at->file_offset + at->length, end);
        ranges.push_back({mapping.address + (from - mapping.file_offset),
                          mapping.address + (to - mapping.file_offset)});
      }
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const Range& range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
  return ranges;
}

WalkMap WalkMap::Build(uint32_t file_count, std::vector<WalkMapping> mappings, uint64_t block_bytes,
                       const WalkMap& old, absl::Span<const uint32_t> old_file, uint64_t generation,
                       ChecksumStore& checksums) {
  WalkMap map;
  map.block_bytes_ = block_bytes;
  map.mappings_ = std::move(mappings);
  map.IndexFiles(file_count);

  // Pieces that live on: all of them lies where it lay, in files that did not change.
  std::vector<WalkPiece> kept;
  const std::vector<Range> unchanged = map.Unchanged(old, old_file);
  auto range = unchanged.begin();
  for (const WalkPiece& piece : old.pieces_) {
    while (range != unchanged.end() && range->end <= piece.address) ++range;
    if (range == unchanged.end()) break;
    if (piece.is_read() && range->begin <= piece.address && piece.end() <= range->end) {
      kept.push_back(piece);
    }
  }

  // Everything else is cut anew, in one sweep over the addresses.
  std::vector<uint32_t> order(map.mappings_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const WalkMapping& x = map.mappings_[a];
    const WalkMapping& y = map.mappings_[b];
    return std::tie(x.address, x.file_offset, x.file) < std::tie(y.address, y.file_offset, y.file);
  });
  std::vector<uint32_t> here;  // mappings that hold `at`
  auto next_kept = kept.begin();
  size_t next = 0;
  std::string known;
  for (uint64_t at = 0; next < order.size() || !here.empty();) {
    if (here.empty()) at = std::max(at, map.mappings_[order[next]].address);
    for (; next < order.size() && map.mappings_[order[next]].address <= at; ++next) {
      here.push_back(order[next]);
    }
    here.erase(std::remove_if(here.begin(), here.end(),
                              [&](uint32_t i) { return map.mappings_[i].end() <= at; }),
               here.end());
    if (here.empty()) continue;
    if (next_kept != kept.end() && next_kept->address == at) {
      map.pieces_.push_back(*next_kept);
      at = next_kept->end();
      ++next_kept;
      continue;
    }
    const WalkMapping& first = map.mappings_[here.front()];
    uint64_t end = at + (kPieceBytes - first.OffsetAt(at) % kPieceBytes);
    for (const uint32_t i : here) end = std::min(end, map.mappings_[i].end());
    if (next < order.size()) end = std::min(end, map.mappings_[order[next]].address);
    if (next_kept != kept.end()) end = std::min(end, next_kept->address);
    WalkPiece piece{
        .address = at, .checksum_at = checksums.size(), .length = static_cast<uint32_t>(end - at)};
    for (const uint32_t i : here) {
      const WalkMapping& mapping = map.mappings_[i];
      known.clear();
      if (old_file[mapping.file] != kNoFile &&
          old.CopyChecksums(old_file[mapping.file], mapping.OffsetAt(at), piece.length, checksums,
                            known)) {
        piece.generation = generation;
        break;
      }
    }
    // Room for those that are yet to be read, too.
    known.resize(piece.length / block_bytes * kChecksumBytes);
    checksums.Append(known);
    map.pieces_.push_back(piece);
    at = end;
  }
  map.IndexReferences();
  return map;
}

bool WalkMap::Restore(uint32_t file_count, std::vector<WalkMapping> mappings,
                      std::vector<WalkPiece> pieces, uint64_t block_bytes, uint64_t checksum_bytes,
                      WalkMap& map) {
  constexpr uint64_t kEnd = uint64_t{1} << 62;
  const auto aligned = [&](uint64_t value) { return value % block_bytes == 0 && value < kEnd; };
  const WalkMapping* before = nullptr;
  for (const WalkMapping& mapping : mappings) {
    if (mapping.file >= file_count || mapping.length == 0 || !aligned(mapping.length) ||
        !aligned(mapping.address) || !aligned(mapping.file_offset)) {
      return false;
    }
    if (before != nullptr && (before->file > mapping.file ||
                              (before->file == mapping.file &&
                               before->file_offset + before->length > mapping.file_offset))) {
      return false;
    }
    before = &mapping;
  }
  uint64_t end = 0;
  for (const WalkPiece& piece : pieces) {
    const uint64_t bytes = piece.length / block_bytes * kChecksumBytes;
    if (piece.length == 0 || piece.length > kPieceBytes || !aligned(piece.length) ||
        !aligned(piece.address) || piece.address < end || piece.generation > INT64_MAX ||
        piece.checksum_at > checksum_bytes || bytes > checksum_bytes - piece.checksum_at) {
      return false;
    }
    end = piece.end();
  }
  map.block_bytes_ = block_bytes;
  map.mappings_ = std::move(mappings);
  map.pieces_ = std::move(pieces);
  map.IndexFiles(file_count);
  map.IndexReferences();
  return true;
}

}  // namespace onefold
