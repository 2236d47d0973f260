#include "coordinator/keys.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/status_macros.h"

namespace onefold::index {
namespace {

constexpr size_t kVolumeEnd = 5;
constexpr uint32_t kDeltaBias = uint32_t{1} << 31;

absl::Status CheckKey(absl::string_view key, Kind kind, size_t size) {
  if (key.size() == size && key[0] == static_cast<char>(kind)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("no key of kind ",
                                          std::string(1, static_cast<char>(kind)), ": ",
                                          absl::BytesToHexString(key.substr(0, 40))));
}

uint64_t Column(absl::string_view key, size_t at) { return LoadBig64(key.data() + at); }

}  // namespace

std::string KeyPrefix(Kind kind, VolumeNumber volume) {
  std::string key(1, static_cast<char>(kind));
  AppendBig32(key, volume.value);
  return key;
}

std::string KeyPrefix(Kind kind, VolumeNumber volume, uint64_t column) {
  std::string key = KeyPrefix(kind, volume);
  AppendBig64(key, column);
  return key;
}

std::string EncodeKey(VolumeNumber volume, const FingerprintKey& key) {
  std::string bytes = KeyPrefix(Kind::kFingerprint, volume, key.digest);
  AppendBig64(bytes, key.address);
  return bytes;
}

std::string EncodeKey(VolumeNumber volume, const AnchorKey& key) {
  std::string bytes = KeyPrefix(Kind::kAnchor, volume, key.digest);
  AppendBig64(bytes, key.address);
  AppendBig32(bytes, key.offset);
  return bytes;
}

std::string EncodeKey(VolumeNumber volume, const MatchKey& key) {
  std::string bytes = KeyPrefix(Kind::kMatch, volume, key.query);
  AppendBig64(bytes, key.place);
  AppendBig32(bytes, static_cast<uint32_t>(key.delta) + kDeltaBias);
  return bytes;
}

std::string VolumeKey(const VolumeUuid& uuid) {
  return static_cast<char>(Kind::kVolume) + ToBytes(uuid);
}

absl::StatusOr<uint64_t> ParseAddressKey(Kind kind, absl::string_view key) {
  RETURN_IF_ERROR(CheckKey(key, kind, kKeyPrefixBytes));
  return Column(key, kVolumeEnd);
}

absl::StatusOr<FingerprintKey> ParseFingerprintKey(absl::string_view key) {
  RETURN_IF_ERROR(CheckKey(key, Kind::kFingerprint, kKeyPrefixBytes + 8));
  return FingerprintKey{.digest = Column(key, kVolumeEnd), .address = Column(key, kKeyPrefixBytes)};
}

absl::StatusOr<AnchorKey> ParseAnchorKey(absl::string_view key) {
  RETURN_IF_ERROR(CheckKey(key, Kind::kAnchor, kKeyPrefixBytes + 12));
  return AnchorKey{.digest = Column(key, kVolumeEnd),
                   .address = Column(key, kKeyPrefixBytes),
                   .offset = LoadBig32(key.data() + kKeyPrefixBytes + 8)};
}

absl::StatusOr<MatchKey> ParseMatchKey(absl::string_view key) {
  RETURN_IF_ERROR(CheckKey(key, Kind::kMatch, kKeyPrefixBytes + 12));
  return MatchKey{
      .query = Column(key, kVolumeEnd),
      .place = Column(key, kKeyPrefixBytes),
      .delta = static_cast<int32_t>(LoadBig32(key.data() + kKeyPrefixBytes + 8) - kDeltaBias)};
}

absl::StatusOr<VolumeUuid> ParseVolumeKey(absl::string_view key) {
  RETURN_IF_ERROR(CheckKey(key, Kind::kVolume, 17));
  return *VolumeUuidFromBytes(key.substr(1));
}

}  // namespace onefold::index
