// MetadataAccount: does dropping an extent pay, metadata counted?
//
// Snapshots share leaves of metadata. Moving a reference in one subvolume gives that subvolume a
// leaf of its own: one node, times the copies of the metadata profile, and new back references for
// all extents of the leaf. What is paid once serves every further extent of the same leaf, so drops
// are summed up per leaf.
//
// How many leaves a drop splits off is known: the extent item counts leaves that refer to it, the
// look-up counts references; the difference is shared. Which leaf a reference is in is not told by
// the kernel; inode numbers tell it well enough (neighbours were written together).
//
// Pure, not thread-safe.

#ifndef ONEFOLD_WORKER_METADATA_ACCOUNT_H_
#define ONEFOLD_WORKER_METADATA_ACCOUNT_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "worker/settle.h"

namespace onefold {

class MetadataAccount {
 public:
  MetadataAccount(int32_t node_bytes, int64_t copies);

  // For each of `drops`, whether it pays together with the others that split off the same leaves.
  // What was split off by earlier calls is free.
  std::vector<bool> Decide(const std::vector<Drop>& drops);

 private:
  // A stretch of a subvolume's tree that is about one leaf.
  struct Leaf {
    uint64_t subvolume = 0;
    uint64_t inode_group = 0;
    uint64_t offset_group = 0;
    friend bool operator==(const Leaf&, const Leaf&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Leaf& leaf) {
      return H::combine(std::move(h), leaf.subvolume, leaf.inode_group, leaf.offset_group);
    }
  };
  static Leaf LeafOf(const Drop& drop);

  const int64_t leaf_cost_;
  // How many copies of a leaf were split off.
  absl::flat_hash_map<Leaf, int64_t> paid_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_METADATA_ACCOUNT_H_
