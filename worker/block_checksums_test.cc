#include "worker/block_checksums.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "worker/volume.h"

namespace onefold {
namespace {

constexpr int32_t kBlock = 4096;

std::string Checksums(int32_t kind, absl::string_view data, int32_t block_bytes = kBlock) {
  std::string checksums;
  AppendBlockChecksums(kind, block_bytes, data, checksums);
  return checksums;
}

std::string Hex(int32_t kind, absl::string_view data) {
  return absl::BytesToHexString(Checksums(kind, data));
}

// A block that holds every byte.
std::string Ramp(int32_t bytes = kBlock) {
  std::string data(bytes, '\0');
  for (int32_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + i / 256);
  return data;
}

// The published check value: the bytes "123456789".
TEST(BlockChecksumsTest, Crc32cIsCastagnolis) {
  EXPECT_EQ(PortableCrc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(PortableCrc32c(""), 0u);
}

// Of one zero block, as `mkfs.btrfs --csum` of each kind stores them on disk.
TEST(BlockChecksumsTest, ZeroBlockIsAsOnDisk) {
  const std::string zeros(kBlock, '\0');
  EXPECT_EQ(Hex(1, zeros), "8941f998");
  EXPECT_EQ(Hex(2, zeros), "dbbbd8326f9b86ac");
  EXPECT_EQ(Hex(3, zeros), "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7");
  EXPECT_EQ(Hex(4, zeros), "686ede9288c391e7e05026e56f2f91bfd879987a040ea98445dabc76f55b8e5f");
}

TEST(BlockChecksumsTest, InstructionsGiveWhatTheTablesGive) {
  for (const int32_t block_bytes : {4096, 16384, 65536}) {
    for (int32_t blocks = 1; blocks <= 9; ++blocks) {
      const std::string data = Ramp(blocks * block_bytes);
      const std::string checksums = Checksums(1, data, block_bytes);
      ASSERT_EQ(checksums.size(), 4u * blocks);
      for (int32_t i = 0; i < blocks; ++i) {
        const uint32_t crc =
            PortableCrc32c(absl::string_view(data).substr(i * block_bytes, block_bytes));
        const std::string bytes = {static_cast<char>(crc), static_cast<char>(crc >> 8),
                                   static_cast<char>(crc >> 16), static_cast<char>(crc >> 24)};
        EXPECT_EQ(checksums.substr(4 * i, 4), bytes) << blocks << " " << i;
      }
    }
  }
}

TEST(BlockChecksumsTest, BlocksAreIndependentOfTheirNeighbours) {
  for (int32_t kind = 1; kind <= kChecksumKindMax; ++kind) {
    const std::string first = Ramp();
    const std::string second(kBlock, 'x');
    EXPECT_EQ(Checksums(kind, first + second), Checksums(kind, first) + Checksums(kind, second));
    EXPECT_EQ(Checksums(kind, first).size(), static_cast<size_t>(BlockChecksumBytes(kind)));
  }
}

// On disk the last block of a file is filled up with zeros.
TEST(BlockChecksumsTest, PartialBlockCountsAsFilledUp) {
  for (int32_t kind = 1; kind <= kChecksumKindMax; ++kind) {
    std::string data = Ramp() + "tail";
    const std::string checksums = Checksums(kind, data);
    data.resize(2 * kBlock, '\0');
    EXPECT_EQ(checksums, Checksums(kind, data)) << kind;
  }
}

TEST(BlockChecksumsTest, UnknownKindGivesNone) {
  EXPECT_EQ(Checksums(0, Ramp()), "");
  EXPECT_EQ(Checksums(kChecksumKindMax + 1, Ramp()), "");
  EXPECT_EQ(BlockChecksumBytes(kChecksumKindMax + 1), 0);
}

}  // namespace
}  // namespace onefold
