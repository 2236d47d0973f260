// Stand-in for absl/status/status_macros.h until our Abseil has it.

#ifndef ONEFOLD_COMMON_STATUS_MACROS_H_
#define ONEFOLD_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace onefold {

// Returns `status` with "context: " before its message (unchanged if `context` is empty). Keeps
// code and payloads.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

}  // namespace onefold

// Returns from the calling function if `expr` failed. Further arguments are joined by
// absl::StrCat into context and evaluated only on failure.
#define RETURN_IF_ERROR(expr, ...)                                           \
  do {                                                                       \
    if (const absl::Status onefold_status = (expr); !onefold_status.ok())    \
      return ::onefold::Annotate(onefold_status, absl::StrCat(__VA_ARGS__)); \
  } while (false)

// The same for a StatusOr; `lhs` may declare a variable.
#define ASSIGN_OR_RETURN(lhs, expr, ...) \
  ONEFOLD_ASSIGN_OR_RETURN(ONEFOLD_CAT(onefold_or_, __LINE__), lhs, expr, __VA_ARGS__)
#define ONEFOLD_ASSIGN_OR_RETURN(or_value, lhs, expr, ...)                                      \
  auto or_value = (expr);                                                                       \
  if (!or_value.ok()) return ::onefold::Annotate(or_value.status(), absl::StrCat(__VA_ARGS__)); \
  lhs = *std::move(or_value)
#define ONEFOLD_CAT(a, b) ONEFOLD_CAT_(a, b)
#define ONEFOLD_CAT_(a, b) a##b

#endif  // ONEFOLD_COMMON_STATUS_MACROS_H_
