// Caller: who makes a call, as the transport proved it.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_CALLER_H_
#define ONEFOLD_COORDINATOR_IDENTITY_CALLER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onefold {

// What a person may do; each may also do what those before it may.
enum class Role { kNone, kViewer, kOperator, kAdmin };

// "none", "viewer", "operator", "admin": as in certificates and on command lines.
absl::string_view ToString(Role role);
// kNone for every other word.
Role ParseRole(absl::string_view word);

struct Caller {
  enum class Kind {
    kNobody,  // TLS without a certificate: may join, and ask whether the service is up
    kHost,    // a worker; `id` is its host id
    kUser,    // a person; `id` is the name
    kLocal,   // no TLS: a Unix socket, loopback, the same process, or --insecure
  };
  Kind kind = Kind::kNobody;
  std::string id;  // empty for kNobody and kLocal
  Role role = Role::kNone;

  friend bool operator==(const Caller&, const Caller&) = default;
};

// "host:…", "user:…", "local", "nobody", for logs.
std::string ToString(const Caller& caller);

// Whether `caller` may speak as the worker `worker_id`: a host only for itself; kLocal for whomever
// it names.
//
// PERMISSION_DENIED: everybody else.
absl::Status CheckSpeaksFor(const Caller& caller, absl::string_view worker_id);

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_CALLER_H_
