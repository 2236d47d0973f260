// Which kernels are known to harm people who dedupe on btrfs. The facts were gathered by the bees
// project (docs/btrfs-kernel.md there, with the commits that fix them). A kernel is named, never
// refused: vendors carry fixes that a version number does not show.

#ifndef ONEFOLD_WORKER_KERNEL_CHECK_H_
#define ONEFOLD_WORKER_KERNEL_CHECK_H_

#include <compare>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace onefold {

struct KernelVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  // The vendor counts its own releases ("5.15.0-91-generic"): `patch` says nothing.
  bool patch_known = true;
};

// What the system says of its kernel.
struct KernelNames {
  std::string release;    // uname -r
  std::string version;    // uname -v; Debian puts the true version here
  std::string signature;  // /proc/version_signature; Ubuntu puts the true version here
};

KernelNames RunningKernel();

// The upstream version behind what the system says. nullopt if that cannot be understood.
std::optional<KernelVersion> ParseKernelVersion(const KernelNames& names);

// One warning for people if `names` is a kernel with known bugs that a run can trigger: which, and
// what fixes them. Empty if not, or if the version cannot be understood.
std::string KernelWarning(const KernelNames& names);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_KERNEL_CHECK_H_
