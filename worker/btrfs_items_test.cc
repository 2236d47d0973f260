// The frozen bytes come from a filesystem of Linux 6.18 (mkfs.btrfs 6.2), read with
// BTRFS_IOC_TREE_SEARCH_V2. They are also what the fake volume's encoders must write.

#include "worker/btrfs_items.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/testing/test_seed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/btrfs_encoding.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

std::string Bytes(absl::string_view hex) { return absl::HexStringToBytes(hex); }
std::string Hex(absl::string_view bytes) { return absl::BytesToHexString(bytes); }
std::string Zeros(int bytes) { return std::string(2 * bytes, '0'); }

auto Link(uint64_t parent, const std::string& name) {
  return ::testing::AllOf(Field("parent", &InodeLink::parent, parent),
                          Field("name", &InodeLink::name, name));
}

// A file of 65536 bytes, two references, one of them counted twice.
constexpr char kDataExtent[] =
    "020000000000000007000000000000000100000000000000b205000000000000000301000000000000000000000000"
    "00"
    "0002000000";
constexpr char kTreeBlock[] = "010000000000000007000000000000000200000000000000b00300000000000000";
constexpr char kDataChunk[] =
    "0000000200000000020000000000000000000100000000000100000000000000000001000000010000100000010001"
    "0001000000000000000000500600000000f7a15c642b0e4b9bbb112b27bd97f7fd";
constexpr char kMetadataChunk[] =
    "0000000200000000020000000000000000000100000000002400000000000000000001000000010000100000020001"
    "0001000000000000000000500200000000f7a15c642b0e4b9bbb112b27bd97f7fd0100000000000000000050040000"
    "0000"
    "f7a15c642b0e4b9bbb112b27bd97f7fd";
// 150000 bytes, three names.
constexpr char kFileInode[] =
    "07000000000000000700000000000000f04902000000000000500200000000000000000000000000030000000000"
    "000000000000a4810000000000000000000000000000000000002600000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000a0790d6b000000001262a308a0790d6b0000000013b3c80aa079"
    "0d6b0000000012741d09a0790d6b000000001262a308";
constexpr char kThreeNames[] =
    "02000000000000000500706c61696e030000000000000006007365636f6e6404000000000000001800706c61696e2d"
    "7769"
    "74682d612d6c6f6e6765722d6e616d65";
constexpr char kSubvolumeBackref[] = "00010000000000000b000000000000000300737562";
constexpr char kSnapshotBackref[] = "0801000000000000020000000000000002007331";
constexpr char kRegularExtent[] =
    "0700000000000000005002000000000000000000010000d00300000000005002000000000000000000000000000050"
    "0200"
    "00000000";
// Blocks 2 to 15 of a preallocated extent; blocks 0 and 1 were written.
constexpr char kPreallocatedExtent[] =
    "0800000000000000000001000000000000000000020000d000000000000000010000000000002000000000000000e0"
    "0000"
    "00000000";
// 128 KiB of text in one block.
constexpr char kZstdExtent[] =
    "0800000000000000000002000000000003000000010000d10000000000001000000000000000000000000000000000"
    "02"
    "0000000000";
constexpr char kInlineExtent[] = "070000000000000004000000000000000000000000aabbccdd";

// A root item of 439 bytes: inode item, then what follows it on disk.
std::string ReadonlySnapshotRoot() {
  return absl::StrCat(
      "01", Zeros(15), "03000000000000000040", Zeros(14), "010000000000000000000000ed41", Zeros(13),
      "80", Zeros(92), "090000000000000000010000000000000000db01", Zeros(13),
      "400000000000000900000000000000010000000000000001", Zeros(22),
      "0900000000000000e69bc762d969f24ba85d31dca399cd629fb1e17b8a375d4c8e26f0fd2e033a61", Zeros(16),
      "080000000000000009", Zeros(23), "a0790d6b000000008d1d301da0790d6b000000001ed40020",
      Zeros(87), "00");
}

TEST(BtrfsItemsTest, DataExtentIsRead) {
  const auto item = ParseExtentItem(Bytes(kDataExtent));
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->references, 2u);
  EXPECT_EQ(item->generation, 7u);
}

// One file alone, named by the item itself.
TEST(BtrfsItemsTest, OnlyOwnerOfAnExtent) {
  const auto one =
      ParseExtentItem(EncodeDataExtent(1, 7, {{.root = 5, .inode = 260, .offset = 4096}}));
  ASSERT_TRUE(one && one->only_owner);
  EXPECT_EQ(one->only_owner->subvolume, 5u);
  EXPECT_EQ(one->only_owner->inode, 260u);
  EXPECT_EQ(one->only_owner->offset, 4096u);
  // Two places; a place in a shared leaf; nothing said; cut off.
  EXPECT_FALSE(ParseExtentItem(Bytes(kDataExtent))->only_owner);
  EXPECT_FALSE(
      ParseExtentItem(EncodeDataExtent(1, 7) + std::string("\xb8\0\0\0\0\0\0\0\0\1\0\0\0", 13))
          ->only_owner);
  EXPECT_FALSE(ParseExtentItem(EncodeDataExtent(1, 7))->only_owner);
  const std::string whole = EncodeDataExtent(1, 7, {{.root = 5, .inode = 260}});
  for (size_t size = 24; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseExtentItem(whole.substr(0, size))->only_owner) << size;
  }
  // With simple quotas the owning subvolume comes first.
  std::string quotas = whole;
  quotas.insert(24, std::string("\xac\5\0\0\0\0\0\0\0", 9));
  ASSERT_TRUE(ParseExtentItem(quotas)->only_owner);
  EXPECT_EQ(ParseExtentItem(quotas)->only_owner->inode, 260u);
}

// Taken for data, a tree block would be deduped by address.
TEST(BtrfsItemsTest, TreeBlockIsNoDataExtent) {
  EXPECT_FALSE(ParseExtentItem(Bytes(kTreeBlock)).has_value());
}

TEST(BtrfsItemsTest, ChunksTellDataFromMetadata) {
  const auto data = ParseChunkItem(Bytes(kDataChunk));
  const auto metadata = ParseChunkItem(Bytes(kMetadataChunk));
  ASSERT_TRUE(data.has_value() && metadata.has_value());
  EXPECT_EQ(data->length, 33554432u);
  EXPECT_TRUE(data->holds_data());
  EXPECT_FALSE(metadata->holds_data());
}

// Block groups of small filesystems hold both; their data must be scanned.
TEST(BtrfsItemsTest, MixedChunkHoldsData) {
  const auto mixed = ParseChunkItem(EncodeChunk(4096, /*data and metadata*/ 1 | 4));
  ASSERT_TRUE(mixed.has_value());
  EXPECT_TRUE(mixed->holds_data());
}

TEST(BtrfsItemsTest, InodeOfAFileIsRead) {
  const auto inode = ParseInodeItem(Bytes(kFileInode));
  ASSERT_TRUE(inode.has_value());
  EXPECT_EQ(inode->size, 150000u);
  EXPECT_EQ(inode->link_count, 3u);
  EXPECT_TRUE(inode->is_regular());
  EXPECT_FALSE(inode->is_immutable_or_append_only());
}

// The bits differ from those of FS_IOC_GETFLAGS; the wrong ones would let an immutable file
// through, or pin everything.
TEST(BtrfsItemsTest, ImmutableAndAppendOnlyAreTheOnDiskBits) {
  for (const auto& [flags, pinned] : std::vector<std::pair<uint64_t, bool>>{{0, false},
                                                                            {1 << 6, true},
                                                                            {1 << 7, true},
                                                                            {1 << 0, false},
                                                                            {1 << 5, false},
                                                                            {0x10, false},
                                                                            {(1 << 6) | 1, true}}) {
    EXPECT_EQ((InodeItem{.flags = flags}).is_immutable_or_append_only(), pinned) << flags;
  }
}

TEST(BtrfsItemsTest, OnlyRegularFilesAreRegular) {
  for (const uint32_t type : {0010000u, 0020000u, 0040000u, 0060000u, 0120000u, 0140000u, 0u}) {
    EXPECT_FALSE((InodeItem{.mode = type | 0644}).is_regular()) << type;
  }
  EXPECT_TRUE((InodeItem{.mode = 0100000}).is_regular());
}

TEST(BtrfsItemsTest, AllNamesInOneDirectoryAreRead) {
  std::vector<InodeLink> links;
  ParseInodeRef(Bytes(kThreeNames), 256, links);
  EXPECT_THAT(links, ElementsAre(Link(256, "plain"), Link(256, "second"),
                                 Link(256, "plain-with-a-longer-name")));
}

TEST(BtrfsItemsTest, NamesBeyondALeafAreRead) {
  const std::string name(221, 'n');
  std::vector<InodeLink> links;
  ParseInodeExtref(Bytes(absl::StrCat("0a010000000000004b00000000000000dd00", Hex(name))), links);
  EXPECT_THAT(links, ElementsAre(Link(266, name)));
}

// Names are bytes: a stop at NUL, or a conversion, would resolve the wrong file.
TEST(BtrfsItemsTest, NamesAreRawBytes) {
  const std::string name("\xff\x00\n/x\x1b", 6);
  std::vector<InodeLink> links;
  ParseInodeRef(EncodeInodeRef({{2, name}}), 300, links);
  EXPECT_THAT(links, ElementsAre(Link(300, name)));
}

TEST(BtrfsItemsTest, RootBackrefTellsWhereASubvolumeHangs) {
  const auto subvolume = ParseRootBackref(Bytes(kSubvolumeBackref));
  const auto snapshot = ParseRootBackref(Bytes(kSnapshotBackref));
  ASSERT_TRUE(subvolume.has_value() && snapshot.has_value());
  EXPECT_EQ(subvolume->directory, 256u);
  EXPECT_EQ(subvolume->name, "sub");
  EXPECT_EQ(snapshot->directory, 264u);
  EXPECT_EQ(snapshot->name, "s1");
}

TEST(BtrfsItemsTest, RootOfAReadonlySnapshotIsRead) {
  const std::string body = Bytes(ReadonlySnapshotRoot());
  ASSERT_EQ(body.size(), 439u);
  const auto root = ParseRootItem(body);
  ASSERT_TRUE(root.has_value());
  EXPECT_TRUE(root->read_only);
  EXPECT_TRUE(root->has_parent_uuid);
  EXPECT_EQ(root->references, 1u);
  EXPECT_EQ(root->uuid[0], 0xe6);
  EXPECT_EQ(root->uuid[15], 0x62);
}

// Filesystems made before Linux 3.6 still have such items: with them taken for damage, nothing of
// an old NAS would be in any subvolume.
TEST(BtrfsItemsTest, RootItemOfAnOldKernelHasNoUuids) {
  const auto root = ParseRootItem(EncodeRoot({.read_only = true, .uuid = {1}}).substr(0, 239));
  ASSERT_TRUE(root.has_value());
  EXPECT_TRUE(root->read_only);
  EXPECT_FALSE(root->has_parent_uuid);
  EXPECT_EQ(root->references, 1u);
  EXPECT_EQ(root->uuid, (std::array<uint8_t, 16>{}));
}

TEST(BtrfsItemsTest, SubvolumeThatIsBeingDeletedHasNoReferences) {
  const auto root = ParseRootItem(EncodeRoot({.references = 0}));
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->references, 0u);
  EXPECT_FALSE(root->read_only);
}

TEST(BtrfsItemsTest, RegularExtentIsRead) {
  const auto extent = ParseFileExtent(Bytes(kRegularExtent));
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(extent->kind, FileExtent::Kind::kRegular);
  EXPECT_EQ(extent->disk_address, 63963136u);
  EXPECT_EQ(extent->disk_bytes, 151552u);
  EXPECT_EQ(extent->offset, 0u);
  EXPECT_EQ(extent->length, 151552u);
  EXPECT_EQ(extent->ram_bytes, 151552u);
  EXPECT_EQ(extent->compression, 0);
  EXPECT_EQ(extent->encoding, 0);
}

TEST(BtrfsItemsTest, PartOfAPreallocatedExtentIsRead) {
  const auto extent = ParseFileExtent(Bytes(kPreallocatedExtent));
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(extent->kind, FileExtent::Kind::kPreallocated);
  EXPECT_EQ(extent->offset, 8192u);
  EXPECT_EQ(extent->length, 57344u);
}

// Length on disk and in the file differ here: mixed up, freed space would be counted 32 times.
TEST(BtrfsItemsTest, CompressedExtentHasTwoLengths) {
  const auto extent = ParseFileExtent(Bytes(kZstdExtent));
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(extent->compression, 3);
  EXPECT_EQ(extent->disk_bytes, 4096u);
  EXPECT_EQ(extent->length, 131072u);
  EXPECT_EQ(extent->ram_bytes, 131072u);
}

// The bytes behind the header are file data, not an address.
TEST(BtrfsItemsTest, InlineExtentHasNoAddress) {
  std::string data = EncodeInlineExtent(std::string(100, '\xff'), 7);
  const auto extent = ParseFileExtent(data);
  ASSERT_TRUE(extent.has_value());
  EXPECT_EQ(extent->kind, FileExtent::Kind::kInline);
  EXPECT_EQ(extent->disk_address, 0u);
  EXPECT_TRUE(ParseFileExtent(Bytes(kInlineExtent)).has_value());
}

// Encrypted or otherwise encoded data must be told from plain data.
TEST(BtrfsItemsTest, OtherEncodingsAreNoticed) {
  for (const size_t byte : {17, 18, 19}) {  // encryption, low and high half of other_encoding
    std::string body = Bytes(kRegularExtent);
    body[byte] = 1;
    const auto extent = ParseFileExtent(body);
    ASSERT_TRUE(extent.has_value());
    EXPECT_NE(extent->encoding, 0) << byte;
  }
}

TEST(BtrfsItemsTest, UnknownKindOfFileExtentIsRefused) {
  for (int kind = 3; kind < 256; ++kind) {
    std::string body = Bytes(kRegularExtent);
    body[20] = static_cast<char>(kind);
    EXPECT_FALSE(ParseFileExtent(body).has_value()) << kind;
  }
}

// Lengths that no kernel writes would become negative downstream.
TEST(BtrfsItemsTest, HostileLengthsOfFileExtentsAreRefused) {
  const auto parses = [](uint64_t offset, uint64_t length, uint64_t disk_address) {
    return ParseFileExtent(EncodeFileExtent({.ram_bytes = 8192,
                                             .disk_address = disk_address,
                                             .disk_bytes = 8192,
                                             .offset = offset,
                                             .length = length},
                                            7))
        .has_value();
  };
  EXPECT_TRUE(parses(4096, 4096, 1 << 20));
  EXPECT_FALSE(parses(0, 0, 1 << 20));
  EXPECT_FALSE(parses(0, UINT64_MAX, 1 << 20));
  EXPECT_FALSE(parses(0, uint64_t{1} << 63, 1 << 20));
  EXPECT_FALSE(parses(UINT64_MAX - 4095, 4096, 1 << 20));
  EXPECT_TRUE(parses(0, uint64_t{1} << 50, 0)) << "a hole of a petabyte";
}

// A cut item must not be read beyond its end, nor answered with half of its values.
TEST(BtrfsItemsTest, EveryCutIsRefusedOrReadTheSame) {
  struct Case {
    std::string name;
    std::string body;
    size_t bytes_needed;
    std::function<bool(absl::string_view)> parses;
  };
  const std::vector<Case> cases = {
      {"extent", Bytes(kDataExtent), 24,
       [](absl::string_view body) { return ParseExtentItem(body).has_value(); }},
      {"chunk", Bytes(kDataChunk), 48,
       [](absl::string_view body) { return ParseChunkItem(body).has_value(); }},
      {"inode", Bytes(kFileInode), 160,
       [](absl::string_view body) { return ParseInodeItem(body).has_value(); }},
      {"backref", Bytes(kSubvolumeBackref), 21,
       [](absl::string_view body) { return ParseRootBackref(body).has_value(); }},
      {"root", Bytes(ReadonlySnapshotRoot()), 239,
       [](absl::string_view body) { return ParseRootItem(body).has_value(); }},
      {"regular", Bytes(kRegularExtent), 53,
       [](absl::string_view body) { return ParseFileExtent(body).has_value(); }},
      {"preallocated", Bytes(kPreallocatedExtent), 53,
       [](absl::string_view body) { return ParseFileExtent(body).has_value(); }},
      {"inline", Bytes(kInlineExtent), 21,
       [](absl::string_view body) { return ParseFileExtent(body).has_value(); }},
  };
  for (const Case& one : cases) {
    for (size_t size = 0; size <= one.body.size(); ++size) {
      // Memory of exactly that size, so that AddressSanitizer sees a byte too far.
      const std::vector<char> cut(one.body.begin(), one.body.begin() + static_cast<int64_t>(size));
      EXPECT_EQ(one.parses(absl::string_view(cut.data(), cut.size())), size >= one.bytes_needed)
          << one.name << " cut to " << size;
    }
  }
}

// Between the uuids an item may end too.
TEST(BtrfsItemsTest, CutRootItemHasAllUuidsOrNone) {
  const std::string whole = Bytes(ReadonlySnapshotRoot());
  for (size_t size = 239; size <= whole.size(); ++size) {
    const auto root = ParseRootItem(whole.substr(0, size));
    ASSERT_TRUE(root.has_value());
    EXPECT_EQ(root->has_parent_uuid, size >= 279) << size;
    EXPECT_EQ(root->uuid[0] != 0, size >= 279) << size;
  }
}

// A cut list of names ends with its last whole one.
TEST(BtrfsItemsTest, CutNamesAreLeftOut) {
  const std::string whole = Bytes(kThreeNames);
  for (size_t size = 0; size <= whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<int64_t>(size));
    std::vector<InodeLink> links;
    ParseInodeRef(absl::string_view(cut.data(), cut.size()), 256, links);
    EXPECT_EQ(links.size(), (size >= 15) + (size >= 31) + (size >= 65)) << size;
    links.clear();
    ParseInodeExtref(absl::string_view(cut.data(), cut.size()), links);
  }
}

// A name longer than its item, or of no length, would be read from foreign memory or loop for ever.
TEST(BtrfsItemsTest, HostileNameLengthsEndTheList) {
  for (const uint16_t length : {uint16_t{0}, uint16_t{6}, uint16_t{0xffff}}) {
    std::string body = EncodeInodeRef({{2, "first"}, {3, "other"}});
    body[15 + 8] = static_cast<char>(length);
    body[15 + 9] = static_cast<char>(length >> 8);
    std::vector<InodeLink> links;
    ParseInodeRef(body, 256, links);
    EXPECT_THAT(links, ElementsAre(Link(256, "first"))) << length;

    std::string extref = EncodeInodeExtref(300, 2, "name");
    extref[16] = static_cast<char>(length);
    extref[17] = static_cast<char>(length >> 8);
    links.clear();
    ParseInodeExtref(extref, links);
    EXPECT_THAT(links, IsEmpty()) << length;

    std::string backref = EncodeRootBackref(256, 2, "name");
    backref[16] = static_cast<char>(length);
    backref[17] = static_cast<char>(length >> 8);
    EXPECT_FALSE(ParseRootBackref(backref).has_value()) << length;
  }
}

// Whatever a damaged leaf holds, parsing ends and touches only the item.
TEST(BtrfsItemsTest, AnyBytesAreSurvived) {
  uint64_t state = TestSeed();
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> bytes(next() % 480);
    for (char& byte : bytes) byte = static_cast<char>(next() % 4 == 0 ? next() : 0);
    const absl::string_view body(bytes.data(), bytes.size());
    std::vector<InodeLink> links;
    ParseExtentItem(body);
    ParseChunkItem(body);
    ParseInodeItem(body);
    ParseRootItem(body);
    ParseRootBackref(body);
    ParseFileExtent(body);
    ParseInodeRef(body, 256, links);
    ParseInodeExtref(body, links);
    EXPECT_LE(links.size(), 2 * bytes.size());
  }
}

// The fake volume is only worth as much as its items are true.
TEST(BtrfsItemsTest, FakeItemsAreThoseOfTheKernel) {
  EXPECT_EQ(Hex(EncodeDataExtent(2, 7, {{.root = 5, .inode = 259, .offset = 0, .count = 2}})),
            kDataExtent);
  EXPECT_EQ(Hex(EncodeTreeBlock(7, 3)), kTreeBlock);
  EXPECT_EQ(Hex(EncodeInodeRef({{2, "plain"}, {3, "second"}, {4, "plain-with-a-longer-name"}})),
            kThreeNames);
  EXPECT_EQ(Hex(EncodeRootBackref(256, 11, "sub")), kSubvolumeBackref);
  EXPECT_EQ(
      Hex(EncodeFileExtent(
          {.ram_bytes = 151552, .disk_address = 63963136, .disk_bytes = 151552, .length = 151552},
          7)),
      kRegularExtent);
  EXPECT_EQ(Hex(EncodeFileExtent({.kind = FileExtent::Kind::kPreallocated,
                                  .ram_bytes = 65536,
                                  .disk_address = 13631488,
                                  .disk_bytes = 65536,
                                  .offset = 8192,
                                  .length = 57344},
                                 8)),
            kPreallocatedExtent);
  EXPECT_EQ(Hex(EncodeFileExtent({.compression = 3,
                                  .ram_bytes = 131072,
                                  .disk_address = 13697024,
                                  .disk_bytes = 4096,
                                  .length = 131072},
                                 8)),
            kZstdExtent);
  EXPECT_EQ(Hex(EncodeInlineExtent("\xaa\xbb\xcc\xdd", 7)), kInlineExtent);
  // Up to what differs from machine to machine.
  EXPECT_EQ(Hex(EncodeInode({.size = 150000, .link_count = 3, .mode = 0100644}, 7)).substr(0, 48),
            std::string(kFileInode).substr(0, 48));
  EXPECT_EQ(Hex(EncodeChunk(33554432, 1)).substr(0, 96), std::string(kDataChunk).substr(0, 96));
}

}  // namespace
}  // namespace onefold
