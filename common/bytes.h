// Integers as bytes: little endian for columns on the wire, big endian for keys (byte order is
// number order), LEB128 varints for small values. All readers are bounded; none trusts its input.

#ifndef ONEFOLD_COMMON_BYTES_H_
#define ONEFOLD_COMMON_BYTES_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace onefold {

static_assert(std::endian::native == std::endian::little, "onefold runs on little-endian machines");

inline uint64_t LoadLittle64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

inline void AppendLittle64(std::string& to, uint64_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline uint64_t LoadBig64(const char* from) { return __builtin_bswap64(LoadLittle64(from)); }

inline void AppendBig64(std::string& to, uint64_t value) {
  AppendLittle64(to, __builtin_bswap64(value));
}

inline void AppendBig32(std::string& to, uint32_t value) {
  const uint32_t swapped = __builtin_bswap32(value);
  to.append(reinterpret_cast<const char*>(&swapped), sizeof(swapped));
}

inline uint32_t LoadBig32(const char* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return __builtin_bswap32(value);
}

inline void AppendVarint(std::string& to, uint64_t value) {
  while (value >= 0x80) {
    to.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  to.push_back(static_cast<char>(value));
}

// Takes a varint from the front of `from`. False if it is cut or longer than ten bytes.
inline bool ConsumeVarint(absl::string_view& from, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << (shift < 64 ? shift : 63);
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace onefold

#endif  // ONEFOLD_COMMON_BYTES_H_
