#include "common/uuid.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace onefold {

std::string ToString(const VolumeUuid& uuid) {
  const std::string hex = absl::BytesToHexString(ToBytes(uuid));
  const absl::string_view h = hex;
  return absl::StrCat(h.substr(0, 8), "-", h.substr(8, 4), "-", h.substr(12, 4), "-",
                      h.substr(16, 4), "-", h.substr(20));
}

std::string ToBytes(const VolumeUuid& uuid) {
  return std::string(reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size());
}

std::optional<VolumeUuid> VolumeUuidFromBytes(absl::string_view bytes) {
  VolumeUuid uuid;
  if (bytes.size() != uuid.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), uuid.bytes.begin());
  return uuid;
}

}  // namespace onefold
