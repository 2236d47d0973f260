// A Volume is one mounted btrfs filesystem, reduced to what the deduper needs. Real: BtrfsVolume
// (btrfs_volume.h). Tests: FakeVolume (testing/fake_volume.h), which can answer anything.
//
// Thread-safe. All calls block.

#ifndef ONEFOLD_WORKER_VOLUME_H_
#define ONEFOLD_WORKER_VOLUME_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/uuid.h"

namespace onefold {

// Values of onefold.v1.ChecksumKind.
inline constexpr int32_t kChecksumKindCrc32c = 1;
inline constexpr int32_t kChecksumKindMax = 4;

// What never changes while a filesystem is mounted.
struct VolumeInfo {
  VolumeUuid uuid;
  int32_t block_bytes = 4096;
  int32_t node_bytes = 16384;
  int32_t checksum_kind = kChecksumKindCrc32c;  // onefold.v1.ChecksumKind
  int32_t checksum_bytes = 4;                   // of one block
  // Its trees are closed to us (walk_volume.h): what references outside of the roots hold, and so
  // what is freed, is not known.
  bool walked = false;
};

// A key of a btrfs tree; compared as a tuple.
struct TreeKey {
  uint64_t object = 0;
  uint8_t type = 0;
  uint64_t offset = 0;
  friend auto operator<=>(const TreeKey&, const TreeKey&) = default;
};

struct TreeRange {
  uint64_t tree = 0;
  TreeKey first;  // inclusive
  TreeKey last;   // inclusive
  // Leaves older than this are skipped whole. Items of newer leaves come whatever their own age.
  uint64_t leaf_generation_min = 0;
  // How many items the kernel should look for at a time; 0: as many as fit in `buffer_bytes`. A
  // look-up that says how many it wants is several times faster: the kernel searches the whole leaf
  // otherwise.
  uint32_t item_count = 0;
  int32_t buffer_bytes = 65536;
};

struct TreeItem {
  TreeKey key;
  absl::string_view body;  // valid only inside the callback
};

// An inode of a subvolume.
struct InodeId {
  uint64_t subvolume = 0;
  uint64_t inode = 0;
  friend auto operator<=>(const InodeId&, const InodeId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const InodeId& id) {
    return H::combine(std::move(h), id.subvolume, id.inode);
  }
};

// One file extent item that refers to an extent.
struct RawReference {
  InodeId file;
  uint64_t file_offset = 0;  // key of the item
};

// Space of the filesystem, in bytes, from BTRFS_IOC_SPACE_INFO and the devices.
struct SpaceInfo {
  int64_t data_used = 0;
  int64_t data_total = 0;       // of allocated chunks
  int64_t metadata_used = 0;    // counted once, whatever the profile
  int64_t metadata_total = 0;   // of allocated chunks, counted once
  int64_t metadata_copies = 1;  // 2 for DUP and RAID1
  int64_t reserved = 0;         // global reserve, part of metadata_total
  int64_t device_bytes = 0;
  int64_t unallocated = 0;
};

// An open file. Closes itself.
class OpenFile {
 public:
  virtual ~OpenFile() = default;

  // Reads up to buffer.size() bytes at `offset`, changing no times. Returns how many; 0 at end of
  // file. DATA_LOSS: checksum or device error.
  virtual absl::StatusOr<int64_t> Read(int64_t offset, absl::Span<char> buffer) = 0;

  // Which pages of the range are in the page cache, one entry a page of 4096 bytes; empty when this
  // cannot be told.
  virtual std::vector<bool> ResidentPages(int64_t offset, int64_t length) = 0;

  // Drops clean pages of the range from the page cache.
  virtual void DropPages(int64_t offset, int64_t length) = 0;
};

// A file of our own without a name, for data that is to lie elsewhere on disk. Gone with this
// object, and after a crash: it has no name to begin with.
class ScratchFile : public OpenFile {
 public:
  // RESOURCE_EXHAUSTED: no room.
  virtual absl::Status Write(int64_t offset, absl::string_view data) = 0;
  // On-disk bytes of what was written, once it is on disk (after a Dedupe from it).
  virtual absl::StatusOr<int64_t> DiskBytes() = 0;
  // Empties it.
  virtual absl::Status Clear() = 0;
};

// One destination of a dedupe call.
struct DedupeDestination {
  OpenFile* file = nullptr;
  int64_t offset = 0;
  // Output: as the kernel answers. status 0 same, 1 different, negative errno. `bytes` is what the
  // kernel says it did: the requested length even where nothing moved, so it is never counted.
  int32_t status = 0;
  int64_t bytes = 0;
};

// The kernel's limit: the argument must fit in one page (24 + 32 bytes a destination).
inline constexpr int kDedupeDestinationsMax = 127;

class Volume {
 public:
  virtual ~Volume() = default;

  virtual const VolumeInfo& info() const = 0;

  // Calls `visit` for each item of `range` in key order until it returns false.
  //
  // NOT_FOUND  there is no such tree (a subvolume that was deleted).
  virtual absl::Status Search(const TreeRange& range,
                              const std::function<bool(const TreeItem&)>& visit) = 0;

  // All references to the extent that begins at `address`, in all subvolumes, snapshots that share
  // metadata included.
  //
  // NOT_FOUND           no extent begins there any more.
  // RESOURCE_EXHAUSTED  more than `reference_max`.
  virtual absl::StatusOr<std::vector<RawReference>> References(uint64_t address,
                                                               int64_t reference_max) = 0;

  // Opens a file without a path, read-only, without changing its access time.
  //
  // NOT_FOUND  gone, or its subvolume is.
  virtual absl::StatusOr<std::unique_ptr<OpenFile>> Open(const InodeId& file) = 0;

  // A new scratch file in the subvolume of `directory`, from which any file can share.
  //
  // FAILED_PRECONDITION  nothing can be written there (a read-only subvolume, not a directory).
  // RESOURCE_EXHAUSTED   no room.
  virtual absl::StatusOr<std::unique_ptr<ScratchFile>> NewScratchFile(const InodeId& directory) = 0;

  // Lets `destinations` share [offset, offset + length) of `source` where the bytes are equal; the
  // kernel compares under lock. Fills in status and bytes of each. At most kDedupeDestinationsMax.
  // Returns 0, or the errno of the call as a whole (then nothing was tried).
  virtual int Dedupe(OpenFile& source, int64_t offset, int64_t length,
                     absl::Span<DedupeDestination> destinations) = 0;

  // Flushes what is dirty and commits a transaction; returns its generation. Everything written
  // before the call is in trees of at most that generation.
  virtual absl::StatusOr<int64_t> Commit() = 0;

  // The running generation (BTRFS_IOC_FS_INFO).
  virtual absl::StatusOr<int64_t> Generation() = 0;

  virtual absl::StatusOr<SpaceInfo> Space() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_VOLUME_H_
