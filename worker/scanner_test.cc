#include "worker/scanner.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/testing/status_matchers.h"
#include "common/testing/test_seed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_encoding.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kBase = uint64_t{1} << 30;

VolumeInfo Info(int32_t block_bytes, int32_t checksum_bytes) {
  VolumeInfo info;
  info.block_bytes = block_bytes;
  info.checksum_bytes = checksum_bytes;
  info.checksum_kind = checksum_bytes == 4 ? kChecksumKindCrc32c : kChecksumKindCrc32c + 1;
  return info;
}

// ---- ChecksumReader

class ChecksumReaderTest : public ::testing::TestWithParam<std::tuple<int32_t, int32_t>> {
 protected:
  uint64_t At(int64_t block) const {
    return kBase + static_cast<uint64_t>(block * volume_.info().block_bytes);
  }
  std::string Absent(int64_t blocks) const {
    return std::string(static_cast<size_t>(blocks * volume_.info().checksum_bytes), '\0');
  }
  // Reads `blocks` blocks and compares with `expected`, of which `present` have a checksum.
  void ExpectRead(ChecksumReader& reader, int64_t block, int64_t blocks,
                  const std::string& expected, int64_t present) {
    std::string checksums = "left over";
    EXPECT_THAT(reader.Read(At(block), blocks, checksums), IsOkAndHolds(present))
        << blocks << " at " << block;
    EXPECT_EQ(checksums, expected) << blocks << " at " << block;
  }

  FakeVolume volume_{Info(std::get<0>(GetParam()), std::get<1>(GetParam()))};
};

INSTANTIATE_TEST_SUITE_P(BlockAndChecksumBytes, ChecksumReaderTest,
                         ::testing::Combine(::testing::Values(4096, 16384, 65536),
                                            ::testing::Values(4, 8, 32)));

TEST_P(ChecksumReaderTest, OneItemForOneExtent) {
  volume_.SetChecksums(At(0), "abcd");
  ChecksumReader reader(volume_);
  ExpectRead(reader, 0, 4, volume_.Checksums("abcd"), 4);
}

TEST_P(ChecksumReaderTest, ItemCoversManyExtents) {
  volume_.SetChecksums(At(0), "abcdefgh");
  ChecksumReader reader(volume_);
  ExpectRead(reader, 0, 2, volume_.Checksums("ab"), 2);
  ExpectRead(reader, 2, 3, volume_.Checksums("cde"), 3);
  ExpectRead(reader, 5, 3, volume_.Checksums("fgh"), 3);
}

TEST_P(ChecksumReaderTest, ExtentSpansManyItems) {
  volume_.SetChecksums(At(0), "abc");
  volume_.SetChecksums(At(3), "d");
  volume_.SetChecksums(At(4), "efgh");
  ChecksumReader reader(volume_);
  ExpectRead(reader, 1, 6, volume_.Checksums("bcdefg"), 6);
}

// Preallocated and partly written: the count says so, and absent blocks never look like present
// ones.
TEST_P(ChecksumReaderTest, GapsAreCountedAndZero) {
  volume_.SetChecksums(At(1), "b");
  volume_.SetChecksums(At(4), "ef");
  ChecksumReader reader(volume_);
  ExpectRead(reader, 0, 8,
             Absent(1) + volume_.Checksums("b") + Absent(2) + volume_.Checksums("ef") + Absent(2),
             3);
  ExpectRead(reader, 2, 2, Absent(2), 0);
}

TEST_P(ChecksumReaderTest, NothingIsKnownOfAnEmptyTree) {
  ChecksumReader reader(volume_);
  ExpectRead(reader, 0, 3, Absent(3), 0);
  ExpectRead(reader, 1000000, 3, Absent(3), 0);
}

// A look-up that started at the address itself would miss the item that began before it.
TEST_P(ChecksumReaderTest, LookUpFindsAnItemThatBeganLongBefore) {
  const int64_t longest = (volume_.info().node_bytes - 256) / volume_.info().checksum_bytes;
  const Blocks blocks = Blocks::Series(1, longest);
  volume_.SetChecksums(At(0), blocks);
  for (const int64_t from : {longest - 1, longest / 2, int64_t{0}}) {
    ChecksumReader reader(volume_);  // a fresh one looks up
    ExpectRead(reader, from, 1, volume_.Checksums(blocks.Cut(from, 1)), 1);
  }
}

TEST_P(ChecksumReaderTest, ReadsBackwardsAndFarAhead) {
  const Blocks blocks = Blocks::Series(1, 20000);
  for (int64_t at = 0; at < blocks.count(); at += 100) {
    volume_.SetChecksums(At(at), blocks.Cut(at, 100));
  }
  ChecksumReader reader(volume_, 4096);
  for (const int64_t from : {19990, 3, 10000, 9999, 12, 0, 19999}) {
    const int64_t count = std::min<int64_t>(10, 20000 - from);
    ExpectRead(reader, from, count, volume_.Checksums(blocks.Cut(from, count)), count);
  }
}

// More than what is fetched at a time.
TEST_P(ChecksumReaderTest, ReadsAVeryLongExtent) {
  const Blocks blocks = Blocks::Series(2, 32768);  // 128 MiB of 4 KiB blocks
  for (int64_t at = 0; at < blocks.count(); at += 250) {
    volume_.SetChecksums(At(at), blocks.Cut(at, std::min<int64_t>(250, blocks.count() - at)));
  }
  ChecksumReader reader(volume_, 8192);
  ExpectRead(reader, 0, 32768, volume_.Checksums(blocks), 32768);
}

// The scan's speed: look-ups for each extent would be a hundred times slower than streaming.
TEST_P(ChecksumReaderTest, SequentialReadsAreStreamed) {
  const Blocks blocks = Blocks::Series(3, 20000);
  for (int64_t at = 0; at < blocks.count(); at += 200) {
    volume_.SetChecksums(At(at), blocks.Cut(at, 200));
  }
  ChecksumReader reader(volume_);
  std::string checksums;
  for (int64_t at = 0; at < blocks.count(); at += 4) {
    ASSERT_THAT(reader.Read(At(at), 4, checksums), IsOkAndHolds(4));
  }
  const int64_t streamed = int64_t{20000} * volume_.info().checksum_bytes / 65536;
  EXPECT_LE(volume_.searches(kChecksumTree), streamed + 2);
}

TEST_P(ChecksumReaderTest, ErrorsAreNotTakenForGaps) {
  volume_.FailSearch(kChecksumTree, absl::DataLossError("bad leaf"));
  ChecksumReader reader(volume_);
  std::string checksums;
  EXPECT_THAT(reader.Read(At(0), 1, checksums), HasCode(absl::StatusCode::kDataLoss));
}

// Damaged items must neither be read beyond their end nor make a read go on for ever.
TEST_P(ChecksumReaderTest, HostileItemsAreSurvived) {
  const int32_t size = volume_.info().checksum_bytes;
  const auto put = [&](uint64_t address, size_t bytes) {
    volume_.PutItem(kChecksumTree, {kChecksumObject, kExtentChecksum, address},
                    std::string(bytes, 'x'));
  };
  put(At(0), 0);                                  // empty
  put(At(1), static_cast<size_t>(size) - 1);      // less than one
  put(At(2), static_cast<size_t>(size) + 1);      // one and a piece
  put(At(3) + 1, static_cast<size_t>(3 * size));  // not aligned
  put(At(6), static_cast<size_t>(20 * size));     // over the next one
  put(At(8), static_cast<size_t>(size));
  put(UINT64_MAX - 5, static_cast<size_t>(9 * size));  // wraps around
  for (const int32_t stream_bytes : {1, 256, 65536}) {
    ChecksumReader reader(volume_, stream_bytes);
    std::string checksums;
    for (const int64_t from : {0, 2, 1, 7, 5, 12}) {
      const auto present = reader.Read(At(from), 8, checksums);
      ASSERT_THAT(present, IsOk());
      EXPECT_EQ(checksums.size(), static_cast<size_t>(8 * size));
    }
    ASSERT_THAT(reader.Read(uint64_t{0} - 16 * volume_.info().block_bytes, 8, checksums), IsOk());
  }
}

// What holds for a naive reading of the tree holds for the streaming one, whatever the layout.
TEST_P(ChecksumReaderTest, ReadsWhatANaiveReaderReads) {
  SCOPED_TRACE(absl::StrCat("replay with --seed=", TestSeed()));
  uint64_t state = TestSeed() ^ (uint64_t(volume_.info().block_bytes) << 8) ^
                   uint64_t(volume_.info().checksum_bytes);
  const auto below = [&state](int64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(bound));
  };
  std::map<int64_t, uint64_t> model;  // block → what it holds
  constexpr int64_t kBlocks = 5000;
  uint64_t number = 1;
  for (int64_t at = below(20); at < kBlocks;) {
    const int64_t length = 1 + below(below(4) == 0 ? 400 : 12);
    Blocks item = Blocks::Repeated(0, length);
    for (int64_t i = 0; i < length; ++i) {
      item.Set(i, ++number);
      model[at + i] = number;
    }
    volume_.SetChecksums(At(at), item);
    at += length + (below(3) == 0 ? below(300) : 0);
  }
  ChecksumReader reader(volume_, static_cast<int32_t>(1 + below(20000)));
  int64_t from = 0;
  for (int round = 0; round < 300; ++round) {
    from = below(4) == 0 ? below(kBlocks) : from + below(40);
    if (from >= kBlocks) from = 0;
    const int64_t blocks = 1 + below(below(10) == 0 ? 1500 : 30);
    std::string expected;
    int64_t present = 0;
    for (int64_t block = from; block < from + blocks; ++block) {
      const auto known = model.find(block);
      present += known != model.end();
      expected += known != model.end() ? volume_.Checksum(known->second) : Absent(1);
    }
    std::string checksums;
    ASSERT_THAT(reader.Read(At(from), blocks, checksums), IsOkAndHolds(present))
        << "round " << round;
    ASSERT_EQ(checksums, expected) << "round " << round;
    from += blocks;
  }
}

// ---- Chunks and extents

std::vector<std::pair<uint64_t, uint64_t>> Ranges(
    const absl::StatusOr<std::vector<AddressRange>>& found) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  EXPECT_THAT(found, IsOk());
  if (!found.ok()) return ranges;
  for (const AddressRange& range : *found) ranges.emplace_back(range.begin, range.end);
  return ranges;
}

TEST(DataChunksTest, ChunksThatTouchAreJoined) {
  FakeVolume volume;
  volume.AddChunk(1 << 20, 256);
  volume.AddChunk(2 << 20, 256);
  volume.AddChunk(4 << 20, 256);
  EXPECT_THAT(Ranges(DataChunks(volume)),
              ElementsAre(Pair(1 << 20, 3 << 20), Pair(4 << 20, 5 << 20)));
}

TEST(DataChunksTest, OnlyChunksWithDataCount) {
  FakeVolume volume;
  volume.AddChunk(1 << 20, 256, /*system*/ 2);
  volume.AddChunk(2 << 20, 256, /*metadata, DUP*/ 4 | 32);
  volume.AddChunk(3 << 20, 256, /*data and metadata*/ 1 | 4);
  volume.AddChunk(5 << 20, 256, /*data, RAID1*/ 1 | 16);
  EXPECT_THAT(Ranges(DataChunks(volume)),
              ElementsAre(Pair(3 << 20, 4 << 20), Pair(5 << 20, 6 << 20)));
}

TEST(DataChunksTest, EmptyAndDamagedTreesAreSurvived) {
  FakeVolume volume;
  EXPECT_THAT(Ranges(DataChunks(volume)), IsEmpty());
  volume.PutItem(kChunkTree, {kFirstFreeObject, kChunkItem, 4096}, EncodeChunk(UINT64_MAX, 1));
  volume.PutItem(kChunkTree, {kFirstFreeObject, kChunkItem, 8192}, "cut");
  EXPECT_THAT(Ranges(DataChunks(volume)), IsEmpty());
}

class ForEachExtentTest : public ::testing::TestWithParam<int32_t> {
 protected:
  uint64_t At(int64_t block) const { return kBase + static_cast<uint64_t>(block) * GetParam(); }

  // "address in blocks+length in blocks" of what is visited.
  std::vector<std::string> Scan(AddressRange range, uint64_t leaf_generation_min = 0) {
    std::vector<std::string> found;
    EXPECT_THAT(ForEachExtent(volume_, range, leaf_generation_min,
                              [&](const ScannedExtent& extent) {
                                found.push_back(absl::StrCat((extent.address - kBase) / GetParam(),
                                                             "+", extent.length / GetParam()));
                                return true;
                              }),
                IsOk());
    return found;
  }
  std::vector<std::string> ScanAll() { return Scan({0, UINT64_MAX}); }

  FakeVolume volume_{Info(GetParam(), 4)};
};

INSTANTIATE_TEST_SUITE_P(BlockBytes, ForEachExtentTest, ::testing::Values(4096, 16384, 65536));

TEST_P(ForEachExtentTest, EachExtentIsSeenOnceInOrder) {
  volume_.AddExtent(At(9), "z");
  volume_.AddExtent(At(0), "abcd");
  volume_.AddExtent(At(4), "efg");
  const InodeId file = volume_.AddFile("a");
  for (int i = 0; i < 20; ++i) volume_.MapExtent(file, At(4), {.at = 3 * i});
  EXPECT_THAT(ScanAll(), ElementsAre("0+4", "4+3", "9+1"));
}

TEST_P(ForEachExtentTest, GenerationAndReferencesAreThoseOfTheItem) {
  volume_.AddExtent(At(0), "ab", {.generation = 77, .references = 12});
  ASSERT_THAT(ForEachExtent(volume_, {0, UINT64_MAX}, 0,
                            [](const ScannedExtent& extent) {
                              EXPECT_EQ(extent.generation, 77u);
                              EXPECT_EQ(extent.references, 12u);
                              return true;
                            }),
              IsOk());
}

// In mixed block groups tree blocks lie among the data; their items must not be taken for extents.
TEST_P(ForEachExtentTest, TreeBlocksAreLeftOut) {
  volume_.AddExtent(At(0), "ab");
  volume_.PutItem(kExtentTree, {At(2), 169 /*METADATA_ITEM*/, 0}, EncodeTreeBlock(7, 5));
  volume_.PutItem(kExtentTree, {At(6), kExtentItem, 16384}, EncodeTreeBlock(7, 5));
  volume_.PutItem(kExtentTree, {At(0), 178 /*EXTENT_DATA_REF*/, 999}, std::string(28, 'x'));
  volume_.PutItem(kExtentTree, {At(0), 192 /*BLOCK_GROUP_ITEM*/, 1 << 30}, std::string(24, 'x'));
  volume_.AddExtent(At(20), "c");
  EXPECT_THAT(ScanAll(), ElementsAre("0+2", "20+1"));
}

TEST_P(ForEachExtentTest, RangeIsHalfOpen) {
  volume_.AddExtent(At(0), "ab");
  volume_.AddExtent(At(2), "cd");
  volume_.AddExtent(At(4), "ef");
  EXPECT_THAT(Scan({At(2), At(4)}), ElementsAre("2+2"));
  EXPECT_THAT(Scan({At(1), At(3)}), ElementsAre("2+2"));
  EXPECT_THAT(Scan({At(2), At(2)}), IsEmpty());
  EXPECT_THAT(Scan({At(4), At(2)}), IsEmpty());
  EXPECT_THAT(Scan({At(2) + 1, At(4) + 1}), ElementsAre("4+2"));
}

// An incremental scan must not walk the whole tree; what a new leaf holds of old items comes along.
TEST_P(ForEachExtentTest, OldLeavesAreSkippedWhole) {
  volume_.AddExtent(At(0), "a", {.generation = 10});
  volume_.AddExtent(At(1), "b", {.generation = 20});
  volume_.AddExtent(At(2), "c", {.generation = 10});
  volume_.SetLeafGeneration(kExtentTree, {At(2), kExtentItem, static_cast<uint64_t>(GetParam())},
                            20);
  EXPECT_THAT(Scan({0, UINT64_MAX}, 20), ElementsAre("1+1", "2+1"));
  EXPECT_THAT(Scan({0, UINT64_MAX}, 21), IsEmpty());
}

TEST_P(ForEachExtentTest, VisitorEndsTheScan) {
  for (int64_t i = 0; i < 10; ++i) volume_.AddExtent(At(i), "a");
  int visited = 0;
  ASSERT_THAT(ForEachExtent(volume_, {0, UINT64_MAX}, 0,
                            [&](const ScannedExtent&) { return ++visited < 3; }),
              IsOk());
  EXPECT_EQ(visited, 3);
}

// Lengths that no kernel writes would overflow counters downstream.
TEST_P(ForEachExtentTest, HostileExtentsAreLeftOut) {
  const auto block = static_cast<uint64_t>(GetParam());
  const auto put = [&](uint64_t address, uint64_t length) {
    volume_.PutItem(kExtentTree, {address, kExtentItem, length}, EncodeDataExtent(1, 7));
  };
  put(At(0), 0);
  put(At(1), block + 1);
  put(At(2) + 512, block);
  put(At(3), kExtentBytesMax + block);
  put(At(4), UINT64_MAX - block + 1);
  put(At(5), static_cast<uint64_t>(kExtentBytesMax));  // the largest that counts
  volume_.PutItem(kExtentTree, {At(6), kExtentItem, block}, EncodeDataExtent(1, 7).substr(0, 23));
  EXPECT_THAT(ScanAll(), ElementsAre(absl::StrCat("5+", kExtentBytesMax / GetParam())));
}

TEST_P(ForEachExtentTest, ErrorsComeBack) {
  volume_.FailSearch(kExtentTree, absl::DataLossError("bad leaf"));
  EXPECT_THAT(ForEachExtent(volume_, {0, 10}, 0, [](const ScannedExtent&) { return true; }),
              HasCode(absl::StatusCode::kDataLoss));
}

// ---- ChangedChecksums

// A write into preallocated space changes no extent item: only the checksum leaf tells.
TEST(ChangedChecksumsTest, NewLeavesTellWhatMayHaveChanged) {
  FakeVolume volume;
  volume.SetChecksums(kBase, "abcd", 10);
  volume.SetChecksums(kBase + 16384, "ef", 21);
  volume.SetChecksums(kBase + 24576, "g", 22);
  volume.SetChecksums(kBase + 40960, "h", 21);
  EXPECT_THAT(Ranges(ChangedChecksums(volume, 20)),
              ElementsAre(Pair(kBase + 16384, kBase + 28672), Pair(kBase + 40960, kBase + 45056)));
  EXPECT_THAT(Ranges(ChangedChecksums(volume, 21)),
              ElementsAre(Pair(kBase + 24576, kBase + 28672)));
  EXPECT_THAT(Ranges(ChangedChecksums(volume, 22)), IsEmpty());
}

TEST(ChangedChecksumsTest, ReachIsCountedInBlocks) {
  FakeVolume volume(Info(65536, 32));
  volume.SetChecksums(kBase, "abc", 5);
  EXPECT_THAT(Ranges(ChangedChecksums(volume, 4)), ElementsAre(Pair(kBase, kBase + 3 * 65536)));
}

}  // namespace
}  // namespace onefold
