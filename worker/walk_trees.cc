#include "worker/walk_trees.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/bytes.h"
#include "worker/btrfs_encoding.h"
#include "worker/btrfs_items.h"
#include "worker/fingerprint.h"

namespace onefold {
namespace {

constexpr uint32_t kRegularMode = 0100644;
constexpr uint32_t kDirectoryMode = 0040755;
constexpr uint64_t kDataChunk = 1;
// Where plain addresses end: FIEMAP's are far below.
constexpr uint64_t kPlainEnd = uint64_t{1} << 60;

// One answer: visits items that lie within the range until told to stop.
class Answer {
 public:
  Answer(const TreeRange& range, const std::function<bool(const TreeItem&)>& visit)
      : range_(range), visit_(visit) {}

  // False: no further items are wanted.
  bool Add(const TreeKey& key, absl::string_view body) {
    if (key < range_.first) return true;
    if (key > range_.last) return false;
    return visit_({.key = key, .body = body});
  }

 private:
  const TreeRange& range_;
  const std::function<bool(const TreeItem&)>& visit_;
};

// A digest of what is held outside: it stands for the set of snapshots, which is not seen.
std::array<uint8_t, 16> HeldSet(const WalkTrees& trees) {
  std::string text;
  for (size_t i = 0; i < trees.map.pieces().size(); ++i) {
    if (trees.IsHeldOutside(i)) AppendBig64(text, trees.map.pieces()[i].address);
  }
  std::array<uint8_t, 16> uuid = {};
  const uint64_t digest = ChecksumDigest(text);
  std::memcpy(uuid.data(), &digest, sizeof(digest));
  return uuid;
}

void SearchRoots(const WalkTrees& trees, Answer& answer) {
  answer.Add({kFsTree, kRootItem, 0}, EncodeRoot({.uuid = HeldSet(trees)}));
}

void SearchChunks(Answer& answer) {
  const std::pair<uint64_t, uint64_t> chunks[] = {{0, kPlainEnd},
                                                  {kCompressedAddresses, kCompressedAddresses}};
  for (const auto& [begin, length] : chunks) {
    if (!answer.Add({kFirstFreeObject, kChunkItem, begin}, EncodeChunk(length, kDataChunk))) return;
  }
}

void SearchExtents(const WalkTrees& trees, const TreeRange& range, Answer& answer) {
  const std::vector<WalkPiece>& pieces = trees.map.pieces();
  for (size_t i = trees.map.FirstPieceAt(range.first.object);
       i < pieces.size() && pieces[i].address <= range.last.object; ++i) {
    const WalkPiece& piece = pieces[i];
    if (!piece.is_read() || piece.generation < range.leaf_generation_min) continue;
    const uint64_t references = trees.map.ReferencesOf(i).size() + (trees.IsHeldOutside(i) ? 1 : 0);
    if (!answer.Add({piece.address, kExtentItem, piece.length},
                    EncodeDataExtent(references, piece.generation))) {
      return;
    }
  }
}

void SearchChecksums(const WalkTrees& trees, const TreeRange& range, Answer& answer) {
  // What was read once is known for good: nothing comes later.
  if (range.first.object > kChecksumObject || range.last.object < kChecksumObject) return;
  const std::vector<WalkPiece>& pieces = trees.map.pieces();
  for (size_t i = trees.map.FirstPieceAt(range.first.offset); i < pieces.size(); ++i) {
    const WalkPiece& piece = pieces[i];
    if (!piece.is_read() || piece.generation < range.leaf_generation_min) continue;
    const absl::string_view body = trees.checksums.At(
        piece.checksum_at, piece.length / trees.map.block_bytes() * kChecksumBytes);
    if (!answer.Add({kChecksumObject, kExtentChecksum, piece.address}, body)) return;
  }
}

void SearchDirectory(const WalkTrees& trees, uint32_t number, Answer& answer) {
  if (number < trees.root_count || number >= trees.files.directories().size()) return;
  const WalkFiles::Directory& directory = trees.files.directories()[number];
  const uint64_t inode = walk_id::OfDirectory(number, trees.root_count).inode;
  if (!answer.Add({inode, kInodeItem, 0},
                  EncodeInode({.link_count = 1, .mode = kDirectoryMode}, 0))) {
    return;
  }
  answer.Add({inode, kInodeRef, walk_id::OfDirectory(directory.parent, trees.root_count).inode},
             EncodeInodeRef({{0, std::string(trees.files.NameOf(directory))}}));
}

void SearchFile(const WalkTrees& trees, uint32_t number, const TreeRange& range, Answer& answer) {
  if (number >= trees.files.files().size()) return;
  const WalkFile& file = trees.files.files()[number];
  const uint64_t inode = walk_id::OfFile(number).inode;
  const TreeKey extents{inode, kExtentData, 0};
  if (range.first < extents) {
    const InodeItem item{.size = static_cast<uint64_t>(file.identity.bytes),
                         .link_count = 1,
                         .mode = kRegularMode,
                         .flags = file.immutable ? InodeItem::kImmutable : 0};
    if (!answer.Add({inode, kInodeItem, 0}, EncodeInode(item, 0)) ||
        !answer.Add(
            {inode, kInodeRef, walk_id::OfDirectory(file.directory, trees.root_count).inode},
            EncodeInodeRef({{0, std::string(trees.files.NameOf(file))}}))) {
      return;
    }
  }
  if (range.last < extents) return;
  const uint64_t from = range.first < extents ? 0 : range.first.offset;
  trees.map.ForEachPart(number, from, [&](const WalkMap::Part& part) {
    const WalkPiece& piece = trees.map.pieces()[part.piece];
    return answer.Add({inode, kExtentData, part.file_offset},
                      EncodeFileExtent({.ram_bytes = piece.length,
                                        .disk_address = piece.address,
                                        .disk_bytes = piece.length,
                                        .offset = part.piece_offset,
                                        .length = part.length},
                                       piece.generation));
  });
}

void SearchInodes(const WalkTrees& trees, const TreeRange& range, Answer& answer) {
  // Everybody asks for one inode at a time.
  const uint64_t inode = range.first.object;
  if (inode >= walk_id::kFiles) {
    SearchFile(trees, static_cast<uint32_t>(inode - walk_id::kFiles), range, answer);
  } else if (inode >= walk_id::kDirectories) {
    SearchDirectory(trees, static_cast<uint32_t>(inode - walk_id::kDirectories), answer);
  }
}

}  // namespace

absl::Status WalkTrees::Search(const TreeRange& range,
                               const std::function<bool(const TreeItem&)>& visit) const {
  Answer answer(range, visit);
  switch (range.tree) {
    case kRootTree: SearchRoots(*this, answer); return absl::OkStatus();
    case kExtentTree: SearchExtents(*this, range, answer); return absl::OkStatus();
    case kChunkTree: SearchChunks(answer); return absl::OkStatus();
    case kChecksumTree: SearchChecksums(*this, range, answer); return absl::OkStatus();
    case kFsTree: SearchInodes(*this, range, answer); return absl::OkStatus();
    default: return absl::NotFoundError("no such tree");
  }
}

bool WalkTrees::IsHeldOutside(size_t piece) const {
  const absl::Span<const uint32_t> references = map.ReferencesOf(piece);
  return references.size() == 1 && map.mappings()[references[0]].shared != 0;
}

std::vector<RawReference> WalkTrees::ReferencesOf(size_t piece) const {
  std::vector<RawReference> references;
  for (const uint32_t number : map.ReferencesOf(piece)) {
    const WalkMapping& mapping = map.mappings()[number];
    references.push_back({.file = walk_id::OfFile(mapping.file),
                          .file_offset = map.PartOf(mapping, piece).file_offset});
  }
  if (IsHeldOutside(piece)) references.push_back({});
  return references;
}

}  // namespace onefold
