// IsOk(), IsOkAndHolds(m), HasCode(code): stand-ins for absl/status/status_matchers.h.

#ifndef ONEFOLD_COMMON_TESTING_STATUS_MATCHERS_H_
#define ONEFOLD_COMMON_TESTING_STATUS_MATCHERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace onefold {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P(HasCode, code, "has code " + absl::StatusCodeToString(code)) {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code;
}

MATCHER_P(IsOkAndHolds, matcher, "is OK and its value matches") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(matcher, *arg, result_listener);
}

}  // namespace onefold

#endif  // ONEFOLD_COMMON_TESTING_STATUS_MATCHERS_H_
