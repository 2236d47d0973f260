// CHECK: invariants that stay on in release. A dedupe tool that no longer knows what it is doing
// must stop.

#ifndef ONEFOLD_COMMON_CHECK_H_
#define ONEFOLD_COMMON_CHECK_H_

namespace onefold {

// Prints the failed condition with its place to stderr and aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace onefold

// Ends the process unless `condition` holds. For our own bugs, never for input.
#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::onefold::CheckFailed(#condition, __FILE__, __LINE__))

#endif  // ONEFOLD_COMMON_CHECK_H_
