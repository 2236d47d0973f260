// Keys of the database `index`. Integers are big endian, so byte order is number order. Addresses,
// offsets and lengths count blocks of the volume.
//
//   key    := E volume address             an extent
//           | F volume digest address      an extent with this digest: of all of it, of its head,
//           or both | A volume digest address offset:4   an anchor of an extent | I volume address
//           an extent without complete checksums | W volume address             an extent that
//           waits for an outcome | O volume address             an extent whose outcome is
//           reconsidered when things change | M volume query               how many places of a
//           query were not kept | M volume query place delta:4 the head of extent `query` lies in
//           extent `place` | V uuid:16                    a volume
//   volume := number:4      address, query, place, digest := 8 bytes
//   delta  := block of `place` at which block 0 of `query` lies, plus 2^31
//
// The first 13 bytes of every key but V's hold its kind, volume and first column. Filters are built
// over them, so asking for a digest or address that is absent costs no I/O.
//
// Frozen: keys_test.cc holds the bytes. A change is a new format version (state_directory.h).

#ifndef ONEFOLD_COORDINATOR_KEYS_H_
#define ONEFOLD_COORDINATOR_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/uuid.h"

namespace onefold::index {

inline constexpr size_t kKeyPrefixBytes = 13;

enum class Kind : char {
  kAnchor = 'A',
  kExtent = 'E',
  kFingerprint = 'F',
  kIncomplete = 'I',
  kMatch = 'M',
  kOutcome = 'O',
  kVolume = 'V',
  kWaiting = 'W',
};

// Number that stands for one life of a volume's index.
struct VolumeNumber {
  uint32_t value = 0;
  friend auto operator<=>(const VolumeNumber&, const VolumeNumber&) = default;
};

// Where a head was found. `delta` is in blocks and may be negative.
struct MatchKey {
  uint64_t query = 0;
  uint64_t place = 0;
  int32_t delta = 0;
  friend auto operator<=>(const MatchKey&, const MatchKey&) = default;
};

struct FingerprintKey {
  uint64_t digest = 0;
  uint64_t address = 0;
  friend auto operator<=>(const FingerprintKey&, const FingerprintKey&) = default;
};

struct AnchorKey {
  uint64_t digest = 0;
  uint64_t address = 0;
  uint32_t offset = 0;
  friend auto operator<=>(const AnchorKey&, const AnchorKey&) = default;
};

// The prefix of all keys of one kind and volume, and of those whose first column is `column`.
std::string KeyPrefix(Kind kind, VolumeNumber volume);
std::string KeyPrefix(Kind kind, VolumeNumber volume, uint64_t column);

// E, I, W, O: kinds whose only column is an address; also M without a place.
inline std::string AddressKey(Kind kind, VolumeNumber volume, uint64_t address) {
  return KeyPrefix(kind, volume, address);
}
std::string EncodeKey(VolumeNumber volume, const FingerprintKey& key);
std::string EncodeKey(VolumeNumber volume, const AnchorKey& key);
std::string EncodeKey(VolumeNumber volume, const MatchKey& key);
std::string VolumeKey(const VolumeUuid& uuid);

// Each returns DATA_LOSS unless `key` is exactly one key of that kind; the volume is not looked at.
absl::StatusOr<uint64_t> ParseAddressKey(Kind kind, absl::string_view key);
absl::StatusOr<FingerprintKey> ParseFingerprintKey(absl::string_view key);
absl::StatusOr<AnchorKey> ParseAnchorKey(absl::string_view key);
absl::StatusOr<MatchKey> ParseMatchKey(absl::string_view key);
absl::StatusOr<VolumeUuid> ParseVolumeKey(absl::string_view key);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_KEYS_H_
