#include "worker/block_checksums.h"

#include <blake2.h>
#include <openssl/evp.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "common/bytes.h"
#include "worker/volume.h"

namespace onefold {
namespace {

// onefold.v1.ChecksumKind, beyond kChecksumKindCrc32c.
constexpr int32_t kXxhash64 = 2;
constexpr int32_t kSha256 = 3;
constexpr int32_t kBlake2b = 4;

constexpr uint32_t kCastagnoli = 0x82f63b78;  // reflected

using Crc32cTables = std::array<std::array<uint32_t, 256>, 8>;

// Table k tells what a byte does that is followed by k others.
constexpr Crc32cTables MakeCrc32cTables() {
  Crc32cTables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr Crc32cTables kTables = MakeCrc32cTables();

void AppendLittle32(std::string& to, uint32_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Blocks side by side: an instruction takes three cycles, and one may begin in each.
constexpr int kLanes = 4;

#if defined(__x86_64__)

bool HasCrc32cInstruction() { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) void Crc32cLanes(const char* blocks, int64_t block_bytes,
                                                   uint32_t* crcs) {
  uint64_t lanes[kLanes] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
  for (int64_t at = 0; at < block_bytes; at += 8) {
    for (int i = 0; i < kLanes; ++i) {
      uint64_t word;
      std::memcpy(&word, blocks + i * block_bytes + at, sizeof(word));
      lanes[i] = _mm_crc32_u64(lanes[i], word);
    }
  }
  for (int i = 0; i < kLanes; ++i) crcs[i] = ~static_cast<uint32_t>(lanes[i]);
}

#elif defined(__aarch64__)

bool HasCrc32cInstruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) void Crc32cLanes(const char* blocks, int64_t block_bytes,
                                                 uint32_t* crcs) {
  uint32_t lanes[kLanes] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
  for (int64_t at = 0; at < block_bytes; at += 8) {
    for (int i = 0; i < kLanes; ++i) {
      uint64_t word;
      std::memcpy(&word, blocks + i * block_bytes + at, sizeof(word));
      lanes[i] = __crc32cd(lanes[i], word);
    }
  }
  for (int i = 0; i < kLanes; ++i) crcs[i] = ~lanes[i];
}

#else

bool HasCrc32cInstruction() { return false; }
void Crc32cLanes(const char*, int64_t, uint32_t*) {}

#endif

// Whole blocks only.
void AppendCrc32c(int64_t block_bytes, absl::string_view data, std::string& checksums) {
  static const bool fast = HasCrc32cInstruction();
  const int64_t count = static_cast<int64_t>(data.size()) / block_bytes;
  uint32_t crcs[kLanes];
  for (int64_t block = 0; block < count;) {
    const char* const from = data.data() + block * block_bytes;
    int lanes = 1;
    if (fast && count - block >= kLanes) {
      Crc32cLanes(from, block_bytes, crcs);
      lanes = kLanes;
    } else if (fast) {
      // Fewer blocks than lanes: each lane but the first would read beyond them.
      std::string padded(kLanes * block_bytes, '\0');
      lanes = static_cast<int>(count - block);
      std::memcpy(padded.data(), from, lanes * block_bytes);
      Crc32cLanes(padded.data(), block_bytes, crcs);
    } else {
      crcs[0] = PortableCrc32c({from, static_cast<size_t>(block_bytes)});
    }
    for (int i = 0; i < lanes; ++i) AppendLittle32(checksums, crcs[i]);
    block += lanes;
  }
}

void AppendSha256(int64_t block_bytes, absl::string_view data, std::string& checksums) {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  // Looking the function up takes longer than a block does.
  static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  for (size_t at = 0; at < data.size(); at += block_bytes) {
    unsigned char digest[EVP_MAX_MD_SIZE] = {};
    EVP_DigestInit_ex2(context.get(), sha256, nullptr);
    EVP_DigestUpdate(context.get(), data.data() + at, block_bytes);
    EVP_DigestFinal_ex(context.get(), digest, nullptr);
    checksums.append(reinterpret_cast<const char*>(digest), 32);
  }
}

void AppendWholeBlocks(int32_t checksum_kind, int64_t block_bytes, absl::string_view data,
                       std::string& checksums) {
  switch (checksum_kind) {
    case kChecksumKindCrc32c: AppendCrc32c(block_bytes, data, checksums); return;
    case kXxhash64:
      for (size_t at = 0; at < data.size(); at += block_bytes) {
        AppendLittle64(checksums, XXH64(data.data() + at, block_bytes, 0));
      }
      return;
    case kSha256: AppendSha256(block_bytes, data, checksums); return;
    case kBlake2b:
      for (size_t at = 0; at < data.size(); at += block_bytes) {
        uint8_t digest[32];
        blake2b(digest, data.data() + at, nullptr, sizeof(digest), block_bytes, 0);
        checksums.append(reinterpret_cast<const char*>(digest), sizeof(digest));
      }
      return;
    default: return;
  }
}

}  // namespace

uint32_t PortableCrc32c(absl::string_view data) {
  uint32_t crc = 0xffffffff;
  for (; data.size() >= 8; data.remove_prefix(8)) {
    const uint64_t word = LoadLittle64(data.data()) ^ crc;
    crc = 0;
    for (int i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (const char byte : data) crc = (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xff];
  return ~crc;
}

int32_t BlockChecksumBytes(int32_t checksum_kind) {
  switch (checksum_kind) {
    case kChecksumKindCrc32c: return 4;
    case kXxhash64: return 8;
    case kSha256:
    case kBlake2b: return 32;
    default: return 0;
  }
}

void AppendBlockChecksums(int32_t checksum_kind, int32_t block_bytes, absl::string_view data,
                          std::string& checksums) {
  const size_t tail = data.size() % block_bytes;
  AppendWholeBlocks(checksum_kind, block_bytes, data.substr(0, data.size() - tail), checksums);
  if (tail == 0) return;
  std::string block(data.substr(data.size() - tail));
  block.resize(block_bytes, '\0');
  AppendWholeBlocks(checksum_kind, block_bytes, block, checksums);
}

}  // namespace onefold
