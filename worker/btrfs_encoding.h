// Bodies of btrfs tree items, written byte by byte as the kernel writes them. Made from the on-disk
// format and not from the parsers, so that a mistake in those does not hide behind the same one
// here; btrfs_items_test.cc compares both with bytes of a real filesystem.

#ifndef ONEFOLD_WORKER_BTRFS_ENCODING_H_
#define ONEFOLD_WORKER_BTRFS_ENCODING_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/btrfs_items.h"

namespace onefold {

// A reference as the extent item holds it, inline.
struct InlineDataRef {
  uint64_t root = 0;
  uint64_t inode = 0;
  uint64_t offset = 0;  // file offset minus offset into the extent
  uint32_t count = 1;
};
std::string EncodeDataExtent(uint64_t references, uint64_t generation,
                             const std::vector<InlineDataRef>& inline_refs = {});
// A tree block: the other thing that the extent tree holds.
std::string EncodeTreeBlock(uint64_t generation, uint64_t root);

// A chunk of one stripe.
std::string EncodeChunk(uint64_t length, uint64_t type);

std::string EncodeInode(const InodeItem& inode, uint64_t generation);

// Names in one directory, each with its index there.
std::string EncodeInodeRef(const std::vector<std::pair<uint64_t, std::string>>& names);
std::string EncodeInodeExtref(uint64_t parent, uint64_t index, const std::string& name);

struct RootFields {
  uint64_t generation = 0;
  bool read_only = false;
  uint32_t references = 1;
  uint64_t last_snapshot = 0;
  std::array<uint8_t, 16> uuid = {};
  std::array<uint8_t, 16> parent_uuid = {};
};
// 439 bytes: as every kernel since Linux 3.6 writes it.
std::string EncodeRoot(const RootFields& root);
std::string EncodeRootBackref(uint64_t directory, uint64_t index, const std::string& name);

std::string EncodeFileExtent(const FileExtent& extent, uint64_t generation);
std::string EncodeInlineExtent(const std::string& data, uint64_t generation);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_BTRFS_ENCODING_H_
