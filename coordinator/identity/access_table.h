// Who may call what. The one table; what has no row is refused.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_ACCESS_TABLE_H_
#define ONEFOLD_COORDINATOR_IDENTITY_ACCESS_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/identity/caller.h"

namespace onefold {

// `method`: as on the wire, "/onefold.v1.AdminService/ListHosts".
//
// UNAUTHENTICATED    the method needs a certificate and there was none.
// PERMISSION_DENIED  the caller may not, or nobody may: the method is in no row.
absl::Status CheckAccess(absl::string_view method, const Caller& caller);

// All methods of the table.
std::vector<std::string> MethodsWithAccess();

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_ACCESS_TABLE_H_
