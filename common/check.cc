#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace onefold {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "onefold: internal error: %s does not hold at %s:%d\n", condition, file,
               line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace onefold
