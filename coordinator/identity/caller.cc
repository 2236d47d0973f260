#include "coordinator/identity/caller.h"

#include "absl/strings/str_cat.h"

namespace onefold {

absl::string_view ToString(Role role) {
  switch (role) {
    case Role::kNone: return "none";
    case Role::kViewer: return "viewer";
    case Role::kOperator: return "operator";
    case Role::kAdmin: return "admin";
  }
  return "none";
}

Role ParseRole(absl::string_view word) {
  for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
    if (word == ToString(role)) return role;
  }
  return Role::kNone;
}

std::string ToString(const Caller& caller) {
  switch (caller.kind) {
    case Caller::Kind::kNobody: return "nobody";
    case Caller::Kind::kHost: return absl::StrCat("host:", caller.id);
    case Caller::Kind::kUser: return absl::StrCat("user:", caller.id);
    case Caller::Kind::kLocal: return "local";
  }
  return "nobody";
}

absl::Status CheckSpeaksFor(const Caller& caller, absl::string_view worker_id) {
  if (caller.kind == Caller::Kind::kLocal) return absl::OkStatus();
  if (caller.kind == Caller::Kind::kHost && !caller.id.empty() && caller.id == worker_id) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError("a host speaks only for itself, and nobody else does");
}

}  // namespace onefold
