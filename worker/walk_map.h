// WalkMap: what a walk knows of the disk. Files map to addresses, addresses fall into pieces, and a
// piece has references and checksums: extents as far as they can be seen from files.
//
// FIEMAP tells neither where one extent ends and the next begins, nor what else lies in it. So
// pieces are cut where mappings begin or end, and else where the file's offset is a multiple of
// kPieceBytes: two copies of a file fall into equal pieces, however they lie on disk. A piece lives
// on, with its checksums and generation, as long as all of it is referred to by files that did not
// change; what moved without a change of the file (a balance, another deduper) takes its checksums
// along. Only the rest has to be read.
//
//   mappings   file → [file offset, +length) → address     sorted by file, offset
//   pieces     address → length, generation, checksums     sorted by address, none overlap
//   references piece → mappings that meet it
//
// Pure. Immutable once built, so any thread may read it.

#ifndef ONEFOLD_WORKER_WALK_MAP_H_
#define ONEFOLD_WORKER_WALK_MAP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onefold {

// The most that one piece holds: a row of the index and a request to the kernel for each.
inline constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

// Compressed data has addresses of its own, far behind all others: unpacked it is longer than the
// room it has on disk. A compressed extent of btrfs holds 128 KiB at most and takes at least 4 KiB.
inline constexpr uint64_t kCompressedAddresses = uint64_t{1} << 61;
inline constexpr uint64_t kCompressedBytesMax = 128 << 10;
constexpr uint64_t CompressedAddress(uint64_t address) {
  return kCompressedAddresses + address / 4096 * kCompressedBytesMax;
}

inline constexpr uint32_t kNoFile = UINT32_MAX;

struct WalkMapping {
  uint64_t file_offset = 0;
  uint64_t address = 0;
  uint64_t length = 0;
  uint32_t file = 0;
  uint32_t shared = 0;  // something else refers to it, too

  uint64_t end() const { return address + length; }
  uint64_t OffsetAt(uint64_t at) const { return file_offset + (at - address); }
};

struct WalkPiece {
  uint64_t address = 0;
  uint64_t generation = 0;   // of the run that found it; 0: it was not read yet
  uint64_t checksum_at = 0;  // in the store, bytes
  uint32_t length = 0;
  uint32_t first_reference = 0;

  uint64_t end() const { return address + length; }
  bool is_read() const { return generation != 0; }
};

// Checksums of pieces, four bytes a block, in no order. Copies share what was there when Settle was
// last called, so that a copy may grow while others read. A piece's are never cut in two.
class ChecksumStore {
 public:
  ChecksumStore() = default;
  explicit ChecksumStore(std::string bytes)
      : settled_(std::make_shared<std::string>(std::move(bytes))) {}

  uint64_t size() const { return settled_->size() + added_.size(); }
  absl::string_view At(uint64_t at, uint64_t bytes) const {
    return at < settled_->size() ? absl::string_view(*settled_).substr(at, bytes)
                                 : absl::string_view(added_).substr(at - settled_->size(), bytes);
  }
  void Append(absl::string_view bytes) { added_.append(bytes.data(), bytes.size()); }
  // From now on new copies share all of it, and it may be written to.
  void Settle() {
    if (settled_->empty()) {
      *settled_ = std::move(added_);
    } else if (!added_.empty()) {
      settled_ = std::make_shared<std::string>(*settled_ + added_);
    }
    added_.clear();
  }
  // Where the checksums of a piece that is being read go. Only of what was settled, and not after
  // there are copies.
  char* SettledAt(uint64_t at) { return settled_->data() + at; }

 private:
  std::shared_ptr<std::string> settled_ = std::make_shared<std::string>();
  std::string added_;
};
inline constexpr uint64_t kChecksumBytes = 4;

class WalkMap {
 public:
  WalkMap() = default;

  // `mappings`: sorted by file and offset. `old` is what was known before and `old_file` which of
  // its files each file is, kNoFile if it is new or changed. Pieces that are new, but whose data is
  // known, are of `generation`.
  static WalkMap Build(uint32_t file_count, std::vector<WalkMapping> mappings, uint64_t block_bytes,
                       const WalkMap& old, absl::Span<const uint32_t> old_file, uint64_t generation,
                       ChecksumStore& checksums);
  // As it was saved; `pieces` without references. False: it is not consistent.
  static bool Restore(uint32_t file_count, std::vector<WalkMapping> mappings,
                      std::vector<WalkPiece> pieces, uint64_t block_bytes, uint64_t checksum_bytes,
                      WalkMap& map);

  const std::vector<WalkPiece>& pieces() const { return pieces_; }
  const std::vector<WalkMapping>& mappings() const { return mappings_; }
  uint32_t file_count() const { return static_cast<uint32_t>(first_mapping_.size()) - 1; }
  uint64_t block_bytes() const { return block_bytes_; }

  // Mappings of `file`.
  absl::Span<const WalkMapping> MappingsOf(uint32_t file) const;
  // Mappings that meet piece number `piece`.
  absl::Span<const uint32_t> ReferencesOf(size_t piece) const;
  // Number of the first piece that ends behind `address`.
  size_t FirstPieceAt(uint64_t address) const;
  // Number of the piece that begins at `address`; pieces().size() if none does.
  size_t FindPiece(uint64_t address) const;

  // What of a file lies in one piece.
  struct Part {
    size_t piece = 0;
    uint64_t file_offset = 0;
    uint64_t piece_offset = 0;
    uint64_t length = 0;
  };
  // The parts of `file` that begin at `offset` or later, until `visit` returns false.
  void ForEachPart(uint32_t file, uint64_t offset,
                   const std::function<bool(const Part&)>& visit) const;
  // The part of a mapping that lies in a piece which it meets.
  Part PartOf(const WalkMapping& mapping, size_t piece) const;

  // Says that a piece was read; its checksums are in the store. Only while nobody else looks.
  void MarkRead(size_t piece, uint64_t generation) { pieces_[piece].generation = generation; }
  std::vector<WalkPiece>& mutable_pieces() { return pieces_; }

  // On-disk bytes of all pieces that were read.
  int64_t BytesRead() const;

 private:
  void IndexFiles(uint32_t file_count);
  void IndexReferences();
  // Appends the checksums of a range of a file to `out`; false if they are not known.
  bool CopyChecksums(uint32_t file, uint64_t offset, uint64_t length, const ChecksumStore& store,
                     std::string& out) const;
  // Ranges of addresses at which data lies that a file of `old` had there before, joined.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  std::vector<Range> Unchanged(const WalkMap& old, absl::Span<const uint32_t> old_file) const;

  uint64_t block_bytes_ = 4096;
  std::vector<WalkMapping> mappings_;
  std::vector<uint32_t> first_mapping_ = {0};  // of each file, and the end
  std::vector<WalkPiece> pieces_;
  std::vector<uint32_t> references_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_WALK_MAP_H_
