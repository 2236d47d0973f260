// GroupPages: a group of equal extents that comes in pages, settled as if it were one.
//
// All pages are led by the same member, but which member stays is decided when the first page is
// settled. The next ones have to keep to it: else each of them would leave a copy of its own, and
// the lead, dropped by the first page, would be dropped once more by the second.
//
// Not thread-safe.

#ifndef ONEFOLD_WORKER_GROUP_PAGES_H_
#define ONEFOLD_WORKER_GROUP_PAGES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "worker/coordinator_client.h"
#include "worker/settle.h"

namespace onefold {

class GroupPages {
 public:
  // `page` with what the pages before have kept, and without what they drop in this batch. Fewer
  // than two members: nothing is left to settle.
  Group Continue(const Group& page) const;

  // What came of a page that Continue gave.
  void Note(const Group& page, const Settled& settled);

  // What was to be dropped has been, or was not.
  void EndBatch() { dropped_.clear(); }

 private:
  std::vector<GroupMember> kept_;
  absl::flat_hash_set<uint64_t> dropped_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_GROUP_PAGES_H_
