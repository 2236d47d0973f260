// Words for what the coordinator says in numbers: the same on terminals and in JSON. Pure.

#ifndef ONEFOLD_CLI_FLEET_ADMIN_WORDS_H_
#define ONEFOLD_CLI_FLEET_ADMIN_WORDS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "onefold/v1/admin_service.pb.h"

namespace onefold {

// Values that this program does not know, of a newer coordinator, are "unknown".
std::string StateWord(v1::Host::State state);  // "connected", "silent", "drained"
std::string StateWord(v1::RunState state);     // "waiting", "running", …
std::string PhaseWord(v1::RunPhase phase);     // "scan", "match", "fold", "done"
std::string KindWord(v1::ApplyPoliciesResponse::Change::Kind kind);  // "unchanged", …
std::string RoleWord(v1::UserRole role);                             // "viewer", …
// nullopt for any other word.
std::optional<v1::UserRole> RoleFromWord(absl::string_view word);

bool HasEnded(v1::RunState state);

// "8-4-4-4-12"; hexadecimal if the bytes are no uuid.
std::string UuidWord(absl::string_view bytes);

// Values outside of what the type allows become the nearest that is.
absl::Time TimeOf(const google::protobuf::Timestamp& timestamp);
absl::Duration DurationOf(const google::protobuf::Duration& duration);
google::protobuf::Duration ProtoOf(absl::Duration duration);

// "2026-11-30T22:49:11Z"
std::string TimeWord(absl::Time time);

}  // namespace onefold

#endif  // ONEFOLD_CLI_FLEET_ADMIN_WORDS_H_
