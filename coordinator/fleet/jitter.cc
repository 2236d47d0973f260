#include "coordinator/fleet/jitter.h"

#include "common/bytes.h"

namespace onefold::fleet {
namespace {

uint64_t SplitMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t Mix(uint64_t seed, absl::string_view name, const VolumeUuid& volume) {
  uint64_t state = SplitMix(seed);
  for (const char c : name) state = SplitMix(state ^ static_cast<unsigned char>(c));
  const auto* bytes = reinterpret_cast<const char*>(volume.bytes.data());
  return SplitMix(SplitMix(state ^ LoadLittle64(bytes)) ^ LoadLittle64(bytes + 8));
}

absl::Duration JitterOf(uint64_t seed, absl::string_view policy, const VolumeUuid& volume,
                        absl::Duration most) {
  const int64_t seconds = absl::ToInt64Seconds(most);
  if (seconds <= 0) return absl::ZeroDuration();
  return absl::Seconds(
      static_cast<int64_t>(Mix(seed, policy, volume) % static_cast<uint64_t>(seconds + 1)));
}

}  // namespace onefold::fleet
