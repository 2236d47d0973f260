#include "worker/verifier.h"

#include <algorithm>
#include <numeric>

#include "common/status_macros.h"
#include "worker/btrfs_items.h"

namespace onefold {

absl::StatusOr<std::vector<bool>> FindGone(Volume& volume,
                                           const std::vector<PendingDrop>& pending) {
  std::vector<size_t> order(pending.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return pending[a].address < pending[b].address; });
  std::vector<bool> gone(pending.size(), true);
  // One walk over the tree from the first to the last, leaping over stretches nobody asks about.
  constexpr uint64_t kLeapBytes = 16 << 20;
  for (size_t next = 0; next < order.size();) {
    size_t last = next;
    while (last + 1 < order.size() &&
           pending[order[last + 1]].address - pending[order[last]].address < kLeapBytes) {
      ++last;
    }
    const TreeRange range{.tree = kExtentTree,
                          .first = {pending[order[next]].address, kExtentItem, 0},
                          .last = {pending[order[last]].address, kExtentItem, UINT64_MAX},
                          .item_count = last == next ? 1u : 0u};
    size_t at = next;
    RETURN_IF_ERROR(volume.Search(range, [&](const TreeItem& item) {
      if (item.key.type != kExtentItem) return true;
      while (at <= last && pending[order[at]].address < item.key.object) ++at;
      const auto extent = ParseExtentItem(item.body);
      if (!extent) return true;
      for (size_t i = at; i <= last && pending[order[i]].address == item.key.object; ++i) {
        if (pending[order[i]].generation == extent->generation) gone[order[i]] = false;
      }
      return true;
    }));
    next = last + 1;
  }
  return gone;
}

}  // namespace onefold
