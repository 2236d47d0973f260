// Keys of the database `state`.
//
//   key := L uuid:16     the latest lease of a volume     value: onefold.storage.v1.LeaseRecord
//        | R name        a record of the program          value: what Coordinator::PutRecord was
//        given
//
// Frozen: keys_test.cc holds the bytes.

#ifndef ONEFOLD_COORDINATOR_STATE_KEYS_H_
#define ONEFOLD_COORDINATOR_STATE_KEYS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
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

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_STATE_KEYS_H_
