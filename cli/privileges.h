// What a run needs to be allowed to do, checked before anything else so that the answer is one
// clear sentence instead of an errno for each file.

#ifndef ONEFOLD_CLI_PRIVILEGES_H_
#define ONEFOLD_CLI_PRIVILEGES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onefold {

struct Privileges {
  uint64_t effective_capabilities = 0;  // bit N: capability N of linux/capability.h
  // In a user namespace (rootless container) the kernel does not honour them for what we need.
  bool in_user_namespace = false;
  friend bool operator==(const Privileges&, const Privileges&) = default;
};

// From /proc/self/status and /proc/self/uid_map; nullopt if the former does not tell.
std::optional<Privileges> ParsePrivileges(absl::string_view proc_status, absl::string_view uid_map);

// Of this process. FAILED_PRECONDITION if /proc is not mounted.
absl::Status ReadPrivileges(Privileges& privileges);

// PERMISSION_DENIED with what is missing and how to get it.
absl::Status CheckPrivileges(const Privileges& privileges);

// A sentence about what works less well; empty if nothing does.
std::string PrivilegeWarning(const Privileges& privileges);

}  // namespace onefold

#endif  // ONEFOLD_CLI_PRIVILEGES_H_
