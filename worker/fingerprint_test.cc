#include "worker/fingerprint.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Fingerprints of what a volume of some checksum size would store.
class Maker {
 public:
  explicit Maker(int32_t checksum_bytes = 4) : volume_(Info(checksum_bytes)) {}

  bool crc32c() const { return volume_.info().checksum_kind == kChecksumKindCrc32c; }
  int32_t checksum_bytes() const { return volume_.info().checksum_bytes; }
  std::string Checksums(const Blocks& blocks) const { return volume_.Checksums(blocks); }

  Fingerprint Make(const Blocks& blocks) const {
    Fingerprint fingerprint;
    MakeFingerprint(Checksums(blocks), checksum_bytes(), crc32c(), fingerprint);
    return fingerprint;
  }
  uint64_t Digest(const Blocks& blocks) const { return ChecksumDigest(Checksums(blocks)); }

  // Offset → digest of all windows of the given length.
  std::map<uint32_t, uint64_t> Windows(const Blocks& blocks, int32_t window_blocks) const {
    std::map<uint32_t, uint64_t> windows;
    ForEachWindow(Checksums(blocks), checksum_bytes(), window_blocks, crc32c(),
                  [&](uint64_t digest, uint32_t offset) { windows[offset] = digest; });
    return windows;
  }

 private:
  static VolumeInfo Info(int32_t checksum_bytes) {
    VolumeInfo info;
    info.checksum_kind = checksum_bytes == 4 ? kChecksumKindCrc32c : kChecksumKindCrc32c + 1;
    info.checksum_bytes = checksum_bytes;
    return info;
  }

  const FakeVolume volume_;
};

std::vector<uint32_t> Offsets(const std::map<uint32_t, uint64_t>& windows) {
  std::vector<uint32_t> offsets;
  for (const auto& [offset, digest] : windows) offsets.push_back(offset);
  return offsets;
}

// The index outlives the program: with another function all of it would match nothing.
TEST(FingerprintTest, DigestIsFrozen) {
  EXPECT_EQ(ChecksumDigest(std::string("\x01\x02\x03\x04", 4)), 0x988b7b9033ac4622u);
  EXPECT_EQ(ChecksumDigest(""), 0x2d06800538d394c2u);
}

TEST(FingerprintTest, EqualBlocksHaveEqualDigests) {
  for (const int32_t checksum_bytes : {4, 8, 32}) {
    const Maker maker(checksum_bytes);
    EXPECT_EQ(maker.Make("abcdefgh").digest, maker.Make("abcdefgh").digest);
    EXPECT_NE(maker.Make("abcdefgh").digest, maker.Make("abcdefgx").digest);
    EXPECT_NE(maker.Make("abcdefgh").digest, maker.Make("abcdefg").digest);
    EXPECT_NE(maker.Make("ab").digest, maker.Make("ba").digest);
  }
}

TEST(FingerprintTest, HeadIsTheFirstWindow) {
  for (const int32_t checksum_bytes : {4, 8, 32}) {
    const Maker maker(checksum_bytes);
    const Fingerprint made = maker.Make("abcdefgh");
    ASSERT_TRUE(made.head.has_value());
    EXPECT_EQ(made.head->digest, maker.Digest("abcd"));
    EXPECT_EQ(made.head->offset_blocks, 0u);
  }
}

// A disk image begins with zeros or a pattern; a head that half the disk has says nothing.
TEST(FingerprintTest, HeadSkipsRepeatedBlocks) {
  const Maker maker;
  EXPECT_EQ(maker.Make("......abcd").head->offset_blocks, 3u);  // "...a"
  EXPECT_EQ(maker.Make("zzzzzzabcd").head->offset_blocks, 3u);
  EXPECT_EQ(maker.Make("......abcd").head->digest, maker.Digest("...a"));
  EXPECT_EQ(maker.Make("a.....abcd").head->offset_blocks, 0u);
}

TEST(FingerprintTest, ExtentOfOneRepeatedBlockHasNoHead) {
  const Maker maker;
  for (const char* blocks :
       {".", "..", "...", "....", ".........", "zz", "zzz", "zzzz", "zzzzzzz"}) {
    const Fingerprint made = maker.Make(blocks);
    EXPECT_FALSE(made.head.has_value()) << blocks;
    EXPECT_THAT(made.anchors, IsEmpty()) << blocks;
  }
}

// Most files of a source tree are one to four blocks, the last of them partly filled: with it in
// the head they are never found in an image.
TEST(FingerprintTest, HeadOfAShortExtentLeavesItsLastBlockOut) {
  const Maker maker;
  const std::pair<const char*, const char*> heads[] = {{"a", "a"},      {"ab", "a"}, {"abc", "ab"},
                                                       {"abcd", "abc"}, {"a.", "a"}, {"aab", "ab"}};
  for (const auto& [blocks, head] : heads) {
    const Fingerprint made = maker.Make(blocks);
    ASSERT_TRUE(made.head.has_value()) << blocks;
    EXPECT_EQ(made.head->digest, maker.Digest(head)) << blocks;
    EXPECT_EQ(made.head->offset_blocks, absl::string_view(blocks).find(head)) << blocks;
    EXPECT_THAT(made.anchors, IsEmpty());
  }
  EXPECT_EQ(maker.Make(".a").head->offset_blocks, 1u);  // zeros tell nothing
}

TEST(FingerprintTest, HeadWindowIsAsLongAsTheExtentAllows) {
  EXPECT_EQ(HeadWindowBlocks(1), 1);
  EXPECT_EQ(HeadWindowBlocks(2), 1);
  EXPECT_EQ(HeadWindowBlocks(3), 2);
  EXPECT_EQ(HeadWindowBlocks(4), 3);
  EXPECT_EQ(HeadWindowBlocks(5), 4);
  EXPECT_EQ(HeadWindowBlocks(int64_t{1} << 33), 4);
}

// A head found nowhere: an extent's head must be among the windows of whatever holds the extent.
TEST(FingerprintTest, HeadOfAFileIsAWindowOfTheImageThatHoldsIt) {
  for (const int32_t checksum_bytes : {4, 8, 32}) {
    const Maker maker(checksum_bytes);
    for (int64_t length = 1; length <= 12; ++length) {
      const Blocks file = Blocks::Series(1, length);
      const Blocks image = Blocks::Series(2, 7) + file + Blocks::Series(3, 5);
      const Fingerprint made = maker.Make(file);
      const auto windows = maker.Windows(image, HeadWindowBlocks(length));
      ASSERT_TRUE(made.head.has_value());
      const auto found = windows.find(7 + made.head->offset_blocks);
      ASSERT_NE(found, windows.end()) << length;
      EXPECT_EQ(found->second, made.head->digest) << length;
    }
  }
}

TEST(FingerprintTest, WindowsOfOneRepeatedBlockAreSkipped) {
  const Maker maker;
  EXPECT_THAT(Offsets(maker.Windows("ab....cd", 3)), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(Offsets(maker.Windows("abbbbc", 2)), ElementsAre(0, 4));
  EXPECT_THAT(Offsets(maker.Windows("zzzz", 4)), IsEmpty());
  EXPECT_THAT(Offsets(maker.Windows("abc", 4)), IsEmpty());
}

// One block is always "repeated once": the zero block says nothing, others only where they begin.
TEST(FingerprintTest, WindowsOfOneBlockSkipZerosAndRepeats) {
  EXPECT_THAT(Offsets(Maker().Windows("a..bbb", 1)), ElementsAre(0, 3));
}

// The zero block is known for crc32c alone; with other functions it is a block like any other.
TEST(FingerprintTest, ZeroBlockIsKnownForCrc32cOnly) {
  EXPECT_FALSE(Maker(4).Make(".").head.has_value());
  EXPECT_TRUE(Maker(8).Make(".").head.has_value());
  EXPECT_TRUE(Maker(32).Make(".").head.has_value());
  EXPECT_TRUE(IsRepeatedBlock("\x89\x41\xf9\x98", 4, 1, /*crc32c=*/true));  // of a real filesystem
  EXPECT_FALSE(IsRepeatedBlock("\x98\xf9\x41\x89", 4, 1, /*crc32c=*/true));
}

// Anchors are chosen by content, or data at another alignment would have others.
TEST(FingerprintTest, AnchorsMoveWithTheData) {
  const Maker maker;
  const Blocks data = Blocks::Series(5, 4000);
  const Fingerprint here = maker.Make(data);
  const Fingerprint there = maker.Make(Blocks::Series(6, 13) + data);
  ASSERT_GT(here.anchors.size(), 30u);  // 62 are expected
  std::set<std::pair<uint64_t, uint32_t>> found;
  for (const Window& anchor : there.anchors) found.insert({anchor.digest, anchor.offset_blocks});
  for (const Window& anchor : here.anchors) {
    EXPECT_EQ(found.count({anchor.digest, anchor.offset_blocks + 13}), 1u);
  }
}

TEST(FingerprintTest, AnchorsAreExactlyTheWindowsOfTheModulus) {
  const Maker maker;
  const Blocks data = Blocks::Series(7, 700) + Blocks::Zeros(40) + Blocks::Series(8, 700);
  std::vector<std::pair<uint32_t, uint64_t>> expected;
  for (const auto& [offset, digest] : maker.Windows(data, kHeadBlocks)) {
    if (digest % kAnchorModulus == 0) expected.emplace_back(offset, digest);
  }
  std::vector<std::pair<uint32_t, uint64_t>> anchors;
  for (const Window& anchor : maker.Make(data).anchors) {
    anchors.emplace_back(anchor.offset_blocks, anchor.digest);
  }
  EXPECT_EQ(anchors, expected);
}

// 100 GB of zeros in an image must not become a million rows.
TEST(FingerprintTest, RepeatedBlocksMakeNoAnchors) {
  const Maker maker;
  for (uint64_t number = 0; number < 300; ++number) {
    EXPECT_THAT(maker.Make(Blocks::Repeated(number, 64)).anchors, IsEmpty()) << number;
  }
}

TEST(FingerprintTest, MemoryOfTheLastOneDoesNotShowThrough) {
  const Maker maker;
  Fingerprint fingerprint;
  MakeFingerprint(maker.Checksums(Blocks::Series(5, 4000)), 4, true, fingerprint);
  MakeFingerprint(maker.Checksums("...."), 4, true, fingerprint);
  EXPECT_FALSE(fingerprint.head.has_value());
  EXPECT_THAT(fingerprint.anchors, IsEmpty());
}

}  // namespace
}  // namespace onefold
