// Parsers for the bodies of btrfs tree items, as BTRFS_IOC_TREE_SEARCH_V2 returns them.
//
// Sources: linux/btrfs_tree.h and the kernel's on-disk format documentation. Everything is little
// endian and unaligned. An item may be cut or hostile: each parser checks lengths before it reads
// and answers nullopt (or stops) instead of guessing.
//
// Pure; any thread.

#ifndef ONEFOLD_WORKER_BTRFS_ITEMS_H_
#define ONEFOLD_WORKER_BTRFS_ITEMS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onefold {

// Keys of trees and items that onefold reads.
inline constexpr uint64_t kRootTree = 1;
inline constexpr uint64_t kExtentTree = 2;
inline constexpr uint64_t kChunkTree = 3;
inline constexpr uint64_t kFsTree = 5;
inline constexpr uint64_t kChecksumTree = 7;
inline constexpr uint64_t kFirstFreeObject = 256;
inline constexpr uint64_t kLastFreeObject = static_cast<uint64_t>(-256);
inline constexpr uint64_t kChecksumObject = static_cast<uint64_t>(-10);
inline constexpr uint8_t kInodeItem = 1;
inline constexpr uint8_t kInodeRef = 12;
inline constexpr uint8_t kInodeExtref = 13;
inline constexpr uint8_t kExtentData = 108;
inline constexpr uint8_t kExtentChecksum = 128;
inline constexpr uint8_t kRootItem = 132;
inline constexpr uint8_t kRootBackref = 144;
inline constexpr uint8_t kExtentItem = 168;
inline constexpr uint8_t kChunkItem = 228;

// One item of the extent tree that describes data.
struct ExtentItem {
  // A file that the item itself names, as far as it does.
  struct Owner {
    uint64_t subvolume = 0;
    uint64_t inode = 0;
    uint64_t offset = 0;  // file offset minus offset into the extent, modulo 2^64
  };
  uint64_t references = 0;  // does not see snapshots that share metadata
  uint64_t generation = 0;
  // Set if one place alone is counted and the item says where.
  std::optional<Owner> only_owner = {};
};
// nullopt for tree blocks too.
std::optional<ExtentItem> ParseExtentItem(absl::string_view body);

// A chunk of the logical address space.
struct ChunkItem {
  uint64_t length = 0;
  uint64_t type = 0;  // BTRFS_BLOCK_GROUP_* flags
  bool holds_data() const { return (type & 1) != 0; }
};
std::optional<ChunkItem> ParseChunkItem(absl::string_view body);

struct InodeItem {
  uint64_t size = 0;
  uint32_t link_count = 0;
  uint32_t mode = 0;
  uint64_t flags = 0;

  bool is_regular() const { return (mode & 0170000) == 0100000; }
  bool is_immutable_or_append_only() const { return (flags & (kImmutable | kAppendOnly)) != 0; }

  // fs/btrfs/btrfs_inode.h, the on-disk format; not in the user headers.
  static constexpr uint64_t kImmutable = 1 << 6;
  static constexpr uint64_t kAppendOnly = 1 << 7;
};
std::optional<InodeItem> ParseInodeItem(absl::string_view body);

// One name of an inode.
struct InodeLink {
  uint64_t parent = 0;  // inode of the directory, in the same subvolume
  std::string name;     // raw bytes
};
// Appends the names in an INODE_REF item (whose key offset is `parent`).
void ParseInodeRef(absl::string_view body, uint64_t parent, std::vector<InodeLink>& links);
// Appends the names in an INODE_EXTREF item.
void ParseInodeExtref(absl::string_view body, std::vector<InodeLink>& links);

// Where a subvolume hangs in its parent.
struct RootBackref {
  uint64_t directory = 0;  // inode in the parent subvolume
  std::string name;
};
std::optional<RootBackref> ParseRootBackref(absl::string_view body);

struct RootItem {
  std::array<uint8_t, 16> uuid = {};
  bool has_parent_uuid = false;  // it is a snapshot
  bool read_only = false;
  uint32_t references = 0;  // 0: being deleted
  // Tree blocks above this generation are of this subvolume alone; 0 if no snapshot was ever taken
  // of it and it is none.
  uint64_t last_snapshot = 0;
};
std::optional<RootItem> ParseRootItem(absl::string_view body);

// A file extent that has blocks on disk. `disk_address` 0 is a hole.
struct FileExtent {
  enum class Kind { kInline, kRegular, kPreallocated };
  Kind kind = Kind::kRegular;
  uint8_t compression = 0;  // 0 none, 1 zlib, 2 lzo, 3 zstd
  uint8_t encoding = 0;     // encryption or other encoding; anything but 0 is left alone
  uint64_t ram_bytes = 0;
  uint64_t disk_address = 0;
  uint64_t disk_bytes = 0;
  uint64_t offset = 0;  // into the extent's data, uncompressed
  uint64_t length = 0;  // in the file
};
std::optional<FileExtent> ParseFileExtent(absl::string_view body);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_ITEMS_H_
