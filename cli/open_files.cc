#include "cli/open_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onefold {

rlimit Raised(rlimit limit) {
  // RLIM_INFINITY is the largest of all numbers.
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kOpenFilesWanted));
  return limit;
}

absl::Status CheckOpenFiles(const rlimit& limit) {
  if (limit.rlim_cur >= kOpenFilesMin) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this process may open only ", limit.rlim_cur, " files, and needs ", kOpenFilesMin,
      ": raise the limit (ulimit -n 1024; for a service "
      "LimitNOFILE=65536; for a container --ulimit nofile=65536), then run again"));
}

void RaiseOpenFiles() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlimit raised = Raised(limit);
  // Where it fails, the limit stays as it is and CheckOpenFiles has the say.
  if (raised.rlim_cur != limit.rlim_cur) (void)setrlimit(RLIMIT_NOFILE, &raised);
}

absl::Status CheckOpenFiles() {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? CheckOpenFiles(limit) : absl::OkStatus();
}

}  // namespace onefold
