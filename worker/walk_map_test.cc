#include "worker/walk_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kBlock = 4096;

// Files and what lies on a disk, in blocks; a block's checksum is what is said to be there.
class WalkMapTest : public ::testing::Test {
 protected:
  void Map(uint32_t file, uint64_t at, uint64_t address, uint64_t blocks) {
    mappings_.push_back({.file_offset = at * kBlock,
                         .address = address * kBlock,
                         .length = blocks * kBlock,
                         .file = file});
  }

  // What is mapped now replaces what was; `same` are files that did not change.
  void Build(uint32_t file_count, const std::vector<uint32_t>& same = {}) {
    std::vector<uint32_t> old_file(file_count, kNoFile);
    for (const uint32_t file : same) old_file[file] = file;
    const WalkMap old = std::exchange(map_, {});
    map_ = WalkMap::Build(file_count, std::exchange(mappings_, {}), kBlock, old, old_file,
                          ++generation_, checksums_);
    checksums_.Settle();
  }

  // Reads all that was not read; returns where that is.
  std::vector<uint64_t> Read(const std::string& letter = "x") {
    std::vector<uint64_t> read;
    for (size_t i = 0; i < map_.pieces().size(); ++i) {
      const WalkPiece& piece = map_.pieces()[i];
      if (piece.is_read()) continue;
      read.push_back(piece.address / kBlock);
      for (uint64_t at = 0; at < piece.length / kBlock; ++at) {
        const uint32_t value = static_cast<uint32_t>(letter[0]) << 16 |
                               static_cast<uint32_t>(piece.address / kBlock + at);
        std::memcpy(checksums_.SettledAt(piece.checksum_at) + at * kChecksumBytes, &value,
                    kChecksumBytes);
      }
      map_.MarkRead(i, generation_);
    }
    return read;
  }

  // Address → length of all pieces.
  std::map<uint64_t, uint64_t> Pieces() const {
    std::map<uint64_t, uint64_t> pieces;
    for (const WalkPiece& piece : map_.pieces()) {
      pieces[piece.address / kBlock] = piece.length / kBlock;
    }
    return pieces;
  }
  uint64_t GenerationAt(uint64_t address) const {
    return map_.pieces()[map_.FindPiece(address * kBlock)].generation;
  }
  size_t ReferenceCount(uint64_t address) const {
    return map_.ReferencesOf(map_.FindPiece(address * kBlock)).size();
  }

  std::vector<WalkMapping> mappings_;
  WalkMap map_;
  ChecksumStore checksums_;
  uint64_t generation_ = 0;
};

TEST_F(WalkMapTest, EachPlaceOnce) {
  Map(0, 0, 100, 10);
  Map(1, 0, 200, 10);
  Map(2, 5, 100, 10);  // a reflink
  Build(3);
  EXPECT_THAT(Pieces(), ElementsAre(Pair(100, 10), Pair(200, 10)));
  EXPECT_EQ(ReferenceCount(100), 2u);
  EXPECT_THAT(Read(), ElementsAre(100, 200));
}

// Equal files become equal pieces, however they lie.
TEST_F(WalkMapTest, LongOnesAreCutByFileOffset) {
  Map(0, 0, 1000, 600);
  Map(1, 0, 2000, 100);
  Map(1, 100, 3000, 500);
  Build(2);
  EXPECT_THAT(Pieces(),
              ElementsAre(Pair(1000, 256), Pair(1256, 256), Pair(1512, 88), Pair(2000, 100),
                          Pair(3000, 156), Pair(3156, 256), Pair(3412, 88)));
}

TEST_F(WalkMapTest, PartlySharedOnesAreCutWhereThatBegins) {
  Map(0, 0, 100, 10);
  Map(1, 0, 104, 10);
  Build(2);
  EXPECT_THAT(Pieces(), ElementsAre(Pair(100, 4), Pair(104, 6), Pair(110, 4)));
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  map_.ForEachPart(1, 0, [&](const WalkMap::Part& part) {
    parts.emplace_back(part.file_offset / kBlock, part.length / kBlock);
    return true;
  });
  EXPECT_THAT(parts, ElementsAre(Pair(0, 6), Pair(6, 4)));
}

TEST_F(WalkMapTest, UnchangedFilesAreNotReadAgain) {
  Map(0, 0, 100, 10);
  Map(1, 0, 200, 10);
  Build(2);
  Read();
  Map(0, 0, 100, 10);
  Map(1, 0, 200, 10);
  Build(2, {0});
  EXPECT_THAT(Read(), ElementsAre(200));
  EXPECT_EQ(GenerationAt(100), 1u);
  EXPECT_EQ(GenerationAt(200), 2u);  // written in place, perhaps
}

// A piece stays what it is when something is shared with a part of it: cut, it would be new to the
// index, and be looked at again.
TEST_F(WalkMapTest, APieceLivesOnWithANewReferenceToAPart) {
  Map(0, 0, 100, 10);
  Map(1, 0, 200, 4);
  Build(2);
  Read();
  Map(0, 0, 100, 10);
  Map(1, 0, 103, 4);  // deduped
  Build(2, {0, 1});
  EXPECT_THAT(Pieces(), ElementsAre(Pair(100, 10)));
  EXPECT_EQ(GenerationAt(100), 1u);
  EXPECT_EQ(ReferenceCount(100), 2u);
  map_.ForEachPart(1, 0, [&](const WalkMap::Part& part) {
    EXPECT_EQ(part.piece_offset, 3 * kBlock);
    EXPECT_EQ(part.length, 4 * kBlock);
    return true;
  });
}

// A balance moves what did not change: known, at a new place.
TEST_F(WalkMapTest, WhatMovedTakesItsChecksumsAlong) {
  Map(0, 0, 100, 10);
  Build(1);
  Read();
  const std::string before(checksums_.At(map_.pieces()[0].checksum_at, 40));
  Map(0, 0, 500, 4);
  Map(0, 4, 700, 6);
  Build(1, {0});
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(GenerationAt(500), 2u);
  EXPECT_EQ(absl::StrCat(checksums_.At(map_.pieces()[0].checksum_at, 16),
                         checksums_.At(map_.pieces()[1].checksum_at, 24)),
            before);
}

// Space that was given back and used again is not what it was.
TEST_F(WalkMapTest, UsedAgain) {
  Map(0, 0, 100, 10);
  Map(1, 0, 300, 10);
  Build(2);
  Read();
  Map(0, 0, 100, 4);  // truncated and written to elsewhere since
  Map(1, 0, 106, 4);  // rewritten
  Build(2);
  EXPECT_THAT(Pieces(), ElementsAre(Pair(100, 4), Pair(106, 4)));
  EXPECT_THAT(Read(), ElementsAre(100, 106));
}

// A part that nothing refers to any more belongs to nobody: the next one who writes there must not
// be taken for it.
TEST_F(WalkMapTest, OfAPieceThatLostAPartTheRestStays) {
  Map(0, 0, 100, 10);
  Map(1, 0, 300, 5);
  Build(2);
  Read();
  Map(0, 0, 300, 5);  // its first half was deduped onto the other
  Map(0, 5, 105, 5);
  Map(1, 0, 300, 5);
  Build(2, {0, 1});
  EXPECT_THAT(Pieces(), ElementsAre(Pair(105, 5), Pair(300, 5)));
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(WalkMapTest, RestoreChecksWhatItIsGiven) {
  const auto restored = [](std::vector<WalkMapping> mappings, std::vector<WalkPiece> pieces) {
    WalkMap map;
    return WalkMap::Restore(2, std::move(mappings), std::move(pieces), kBlock, 400, map);
  };
  const WalkMapping good{.address = kBlock, .length = kBlock, .file = 1};
  const WalkPiece piece{.address = kBlock, .generation = 1, .length = kBlock};
  EXPECT_TRUE(restored({good}, {piece}));
  EXPECT_FALSE(restored({{.address = kBlock, .length = kBlock, .file = 2}}, {}));
  EXPECT_FALSE(restored({{.address = kBlock, .length = 0, .file = 1}}, {}));
  EXPECT_FALSE(restored({{.address = 1, .length = kBlock, .file = 1}}, {}));
  EXPECT_FALSE(restored({good, good}, {}));  // one place of a file twice
  EXPECT_FALSE(restored({{.address = UINT64_MAX - kBlock + 1, .length = kBlock, .file = 1}}, {}));
  EXPECT_FALSE(restored({}, {piece, piece}));
  EXPECT_FALSE(restored({}, {{.address = kBlock, .checksum_at = 400, .length = kBlock}}));
  EXPECT_FALSE(restored({}, {{.address = kBlock, .checksum_at = UINT64_MAX, .length = kBlock}}));
  EXPECT_FALSE(restored({}, {{.address = kBlock, .length = 2u << 20}}));
}

}  // namespace
}  // namespace onefold
