// The uuid of a btrfs filesystem: what a volume is called everywhere.

#ifndef ONEFOLD_COMMON_UUID_H_
#define ONEFOLD_COMMON_UUID_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace onefold {

struct VolumeUuid {
  std::array<uint8_t, 16> bytes = {};
  friend auto operator<=>(const VolumeUuid&, const VolumeUuid&) = default;
};

// "8-4-4-4-12" in lower case, as `btrfs filesystem show` prints it.
std::string ToString(const VolumeUuid& uuid);

// The 16 raw bytes, as they travel.
std::string ToBytes(const VolumeUuid& uuid);
// nullopt unless `bytes` has 16 bytes.
std::optional<VolumeUuid> VolumeUuidFromBytes(absl::string_view bytes);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_UUID_H_
