// ScopedVolume: a FakeVolume with all that decides what may be touched on it: roots, excludes,
// limits and what looks at them. Make the volume first, then look.

#ifndef ONEFOLD_WORKER_TESTING_SCOPED_VOLUME_H_
#define ONEFOLD_WORKER_TESTING_SCOPED_VOLUME_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "worker/exclude.h"
#include "worker/extent_view.h"
#include "worker/scope.h"
#include "worker/settle.h"
#include "worker/subvolumes.h"
#include "worker/testing/fake_volume.h"

namespace onefold {

struct ScopedVolume {
  explicit ScopedVolume(const VolumeInfo& info = {}) : volume(info) {}

  FakeVolume volume;
  // Everything below the top of the filesystem.
  std::vector<ScopeRoot> roots = {
      {.path = "/srv", .subvolume_id = kFsTree, .inode = kTopDirectory}};
  ExcludeList excludes;
  FileLimits limits;
  Scope scope{volume, roots, excludes};
  Subvolumes subvolumes{volume};

  void Exclude(const std::vector<std::string>& patterns) {
    auto list = ExcludeList::Parse(patterns);
    CHECK(list.ok());
    excludes = *std::move(list);
  }

  // Looks with the limits of now.
  ExtentViewer NewViewer() { return ExtentViewer(volume, scope, subvolumes, limits); }

  absl::StatusOr<std::optional<ExtentView>> View(uint64_t address, uint64_t generation = 0) {
    ExtentViewer viewer = NewViewer();
    return viewer.View(address, generation);
  }

  // A member of a plan's group as the coordinator would offer it.
  GroupMember Member(uint64_t address, bool kept_before = false, int64_t delta_blocks = 0) {
    GroupMember member{.address = address,
                       .kept_before = kept_before,
                       .queued = true,
                       .delta_blocks = delta_blocks};
    CHECK(volume
              .Search({.tree = kExtentTree,
                       .first = {address, kExtentItem, 0},
                       .last = {address, kExtentItem, UINT64_MAX}},
                      [&](const TreeItem& item) {
                        member.length_blocks =
                            static_cast<uint32_t>(item.key.offset / volume.info().block_bytes);
                        member.generation = ParseExtentItem(item.body)->generation;
                        return false;
                      })
              .ok());
    return member;
  }
  Group GroupOf(const std::vector<uint64_t>& addresses) {
    Group group;
    for (const uint64_t address : addresses) group.members.push_back(Member(address));
    return group;
  }
  // The head of `query` lies in `place`, whose block `delta_blocks` is block 0 of the query.
  Group InsideGroup(uint64_t query, uint64_t place, int64_t delta_blocks) {
    Group group = GroupOf({query});
    group.members.push_back(Member(place, false, delta_blocks));
    return group;
  }
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_SCOPED_VOLUME_H_
