// What may be worked on when two parties have a say: the host's own configuration, which allows,
// and whoever ordered the run, who asks. Only what lies within both is touched, so that an order
// narrows what is allowed and can never widen it, whatever names, symlinks, mounts or ".." it uses.
//
// Both are compared by where they lie within their filesystem, not by name; what comes out are
// inodes, as from ResolveTargets. Pure.

#ifndef ONEFOLD_WORKER_NARROW_TARGETS_H_
#define ONEFOLD_WORKER_NARROW_TARGETS_H_

#include <vector>

#include "worker/exclude.h"
#include "worker/mounts.h"
#include "worker/volume_run.h"

namespace onefold {

// `allowed` and `asked`: both from ResolveTargets with `mounts`, the latter with `excludes`.
// Targets of which nothing is left are left out. Tells `excludes` under which names roots that were
// narrowed are known.
std::vector<VolumeTarget> NarrowTargets(const std::vector<VolumeTarget>& allowed,
                                        const std::vector<VolumeTarget>& asked,
                                        const MountTable& mounts, ExcludeList& excludes);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_NARROW_TARGETS_H_
