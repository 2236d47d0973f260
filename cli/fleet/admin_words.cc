#include "cli/fleet/admin_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "common/uuid.h"

namespace onefold {
namespace {

// Bounds of google.protobuf.Timestamp: 0001-01-01 to 9999-12-31.
constexpr int64_t kSecondsMin = -62135596800;
constexpr int64_t kSecondsMax = 253402300799;

// "RUN_STATE_WAITING" → "waiting"; what has no name, or is "…_UNSPECIFIED", is unknown.
std::string Word(absl::string_view name, absl::string_view prefix) {
  if (name.empty() || !absl::ConsumePrefix(&name, prefix) || name == "UNSPECIFIED") {
    return "unknown";
  }
  return absl::AsciiStrToLower(name);
}

}  // namespace

std::string StateWord(v1::Host::State state) { return Word(v1::Host::State_Name(state), "STATE_"); }

std::string StateWord(v1::RunState state) { return Word(v1::RunState_Name(state), "RUN_STATE_"); }

std::string PhaseWord(v1::RunPhase phase) { return Word(v1::RunPhase_Name(phase), "RUN_PHASE_"); }

std::string KindWord(v1::ApplyPoliciesResponse::Change::Kind kind) {
  return Word(v1::ApplyPoliciesResponse::Change::Kind_Name(kind), "KIND_");
}

std::string RoleWord(v1::UserRole role) { return Word(v1::UserRole_Name(role), "USER_ROLE_"); }

std::optional<v1::UserRole> RoleFromWord(absl::string_view word) {
  for (const v1::UserRole role :
       {v1::USER_ROLE_VIEWER, v1::USER_ROLE_OPERATOR, v1::USER_ROLE_ADMIN}) {
    if (RoleWord(role) == word) return role;
  }
  return std::nullopt;
}

bool HasEnded(v1::RunState state) {
  return state == v1::RUN_STATE_COMPLETED || state == v1::RUN_STATE_INCOMPLETE ||
         state == v1::RUN_STATE_CANCELLED || state == v1::RUN_STATE_FAILED;
}

std::string UuidWord(absl::string_view bytes) {
  const auto uuid = VolumeUuidFromBytes(bytes);
  return uuid.has_value() ? ToString(*uuid) : absl::BytesToHexString(bytes);
}

absl::Time TimeOf(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(std::clamp(timestamp.seconds(), kSecondsMin, kSecondsMax)) +
         absl::Nanoseconds(std::clamp(timestamp.nanos(), 0, 999'999'999));
}

absl::Duration DurationOf(const google::protobuf::Duration& duration) {
  return absl::Seconds(std::clamp(duration.seconds(), -kSecondsMax, kSecondsMax)) +
         absl::Nanoseconds(std::clamp(duration.nanos(), -999'999'999, 999'999'999));
}

google::protobuf::Duration ProtoOf(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
  return proto;
}

std::string TimeWord(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace onefold
