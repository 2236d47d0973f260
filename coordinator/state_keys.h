// Keys of the database `state`.
//
//   key := L uuid:16     the latest lease of a volume     value: onefold.storage.v1.LeaseRecord
//        | R name        a record of the program          value: what Coordinator::PutRecord was
//        given
//        | F fleet       values: messages of onefold/storage/v1/fleet.proto
//
//   fleet := H host_id             a host                              HostRecord
//          | C uuid:16             whose a volume is                   VolumeClaimRecord
//          | P name                a policy                            PolicyRecord
//          | D name 00 uuid:16     how far its schedule was answered   DueRecord
//          | R number:8            a run                               FleetRunRecord
//          | T                     sums over all runs                  FleetTotals
//          | V uuid:16             sums over the runs of a volume      FleetTotals
//          | X uuid:16 hour:8      its figures at an hour since 1970;  HistoryRecord
//                                  of uuid 0: of all volumes together
//
// Numbers are big endian, so byte order is number order.
// Frozen: keys_test.cc holds the bytes.

#ifndef ONEFOLD_COORDINATOR_STATE_KEYS_H_
#define ONEFOLD_COORDINATOR_STATE_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/bytes.h"
#include "common/uuid.h"

namespace onefold::index {

inline constexpr absl::string_view kLeasePrefix = "L";
inline constexpr absl::string_view kRecordPrefix = "R";

inline std::string LeaseKey(const VolumeUuid& uuid) {
  return std::string(kLeasePrefix) + ToBytes(uuid);
}
inline std::optional<VolumeUuid> ParseLeaseKey(absl::string_view key) {
  if (key.substr(0, 1) != kLeasePrefix) return std::nullopt;
  return VolumeUuidFromBytes(key.substr(1));
}
inline std::string RecordKey(absl::string_view name) {
  return std::string(kRecordPrefix) + std::string(name);
}

inline constexpr absl::string_view kFleetHostPrefix = "FH";
inline constexpr absl::string_view kFleetClaimPrefix = "FC";
inline constexpr absl::string_view kFleetPolicyPrefix = "FP";
inline constexpr absl::string_view kFleetDuePrefix = "FD";
inline constexpr absl::string_view kFleetRunPrefix = "FR";
inline constexpr absl::string_view kFleetTotalsKey = "FT";
inline constexpr absl::string_view kFleetVolumeTotalsPrefix = "FV";
inline constexpr absl::string_view kFleetHistoryPrefix = "FX";

inline std::string FleetHostKey(absl::string_view host_id) {
  return absl::StrCat(kFleetHostPrefix, host_id);
}
inline std::string FleetClaimKey(const VolumeUuid& uuid) {
  return absl::StrCat(kFleetClaimPrefix, ToBytes(uuid));
}
inline std::string FleetPolicyKey(absl::string_view name) {
  return absl::StrCat(kFleetPolicyPrefix, name);
}
// `policy` holds no zero byte.
inline std::string FleetDueKey(absl::string_view policy, const VolumeUuid& uuid) {
  return absl::StrCat(kFleetDuePrefix, policy, absl::string_view("", 1), ToBytes(uuid));
}
inline std::string FleetRunKey(int64_t number) {
  std::string key(kFleetRunPrefix);
  AppendBig64(key, static_cast<uint64_t>(number));
  return key;
}

inline std::string FleetVolumeTotalsKey(const VolumeUuid& uuid) {
  return absl::StrCat(kFleetVolumeTotalsPrefix, ToBytes(uuid));
}
inline std::string FleetHistoryPrefix(const VolumeUuid& uuid) {
  return absl::StrCat(kFleetHistoryPrefix, ToBytes(uuid));
}
inline std::string FleetHistoryKey(const VolumeUuid& uuid, int64_t hour) {
  std::string key = FleetHistoryPrefix(uuid);
  AppendBig64(key, static_cast<uint64_t>(hour));
  return key;
}
// The hour of a key with FleetHistoryPrefix.
inline std::optional<int64_t> ParseFleetHistoryHour(absl::string_view key) {
  if (key.size() != kFleetHistoryPrefix.size() + 16 + 8) return std::nullopt;
  return static_cast<int64_t>(LoadBig64(key.data() + kFleetHistoryPrefix.size() + 16));
}

struct FleetDue {
  std::string policy;
  VolumeUuid volume;
};
inline std::optional<FleetDue> ParseFleetDueKey(absl::string_view key) {
  if (key.substr(0, kFleetDuePrefix.size()) != kFleetDuePrefix) return std::nullopt;
  key.remove_prefix(kFleetDuePrefix.size());
  const size_t zero = key.find('\0');
  if (zero == key.npos) return std::nullopt;
  const std::optional<VolumeUuid> volume = VolumeUuidFromBytes(key.substr(zero + 1));
  if (!volume) return std::nullopt;
  return FleetDue{.policy = std::string(key.substr(0, zero)), .volume = *volume};
}
inline std::optional<int64_t> ParseFleetRunKey(absl::string_view key) {
  if (key.substr(0, kFleetRunPrefix.size()) != kFleetRunPrefix) return std::nullopt;
  key.remove_prefix(kFleetRunPrefix.size());
  if (key.size() != 8) return std::nullopt;
  return static_cast<int64_t>(LoadBig64(key.data()));
}

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_STATE_KEYS_H_
