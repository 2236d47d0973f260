#include "worker/btrfs_items.h"

#include <linux/btrfs_tree.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/limits.h"

namespace onefold {
namespace {

template <typename T>
T Load(absl::string_view body, size_t at) {
  T value;
  std::memcpy(&value, body.data() + at, sizeof(value));
  return value;
}

// Reads a little-endian field of a packed on-disk struct out of `body`, which is long enough.
#define LOAD_FIELD(type, body, structure, field) Load<type>(body, offsetof(struct structure, field))

// The first inline reference of an extent of data, if it names a file.
std::optional<ExtentItem::Owner> ParseOwner(absl::string_view refs) {
  constexpr uint8_t kOwnerRef = 172;  // BTRFS_EXTENT_OWNER_REF_KEY, Linux 6.7: of simple quotas
  constexpr size_t kOwnerRefBytes = 9;
  if (refs.size() >= kOwnerRefBytes && static_cast<uint8_t>(refs[0]) == kOwnerRef) {
    refs.remove_prefix(kOwnerRefBytes);
  }
  if (refs.empty() || static_cast<uint8_t>(refs[0]) != BTRFS_EXTENT_DATA_REF_KEY) {
    return std::nullopt;
  }
  refs.remove_prefix(1);
  if (refs.size() < sizeof(btrfs_extent_data_ref)) return std::nullopt;
  return ExtentItem::Owner{.subvolume = LOAD_FIELD(uint64_t, refs, btrfs_extent_data_ref, root),
                           .inode = LOAD_FIELD(uint64_t, refs, btrfs_extent_data_ref, objectid),
                           .offset = LOAD_FIELD(uint64_t, refs, btrfs_extent_data_ref, offset)};
}

}  // namespace

std::optional<ExtentItem> ParseExtentItem(absl::string_view body) {
  if (body.size() < sizeof(btrfs_extent_item)) return std::nullopt;
  if ((LOAD_FIELD(uint64_t, body, btrfs_extent_item, flags) & BTRFS_EXTENT_FLAG_DATA) == 0) {
    return std::nullopt;
  }
  ExtentItem item{.references = LOAD_FIELD(uint64_t, body, btrfs_extent_item, refs),
                  .generation = LOAD_FIELD(uint64_t, body, btrfs_extent_item, generation)};
  if (item.references == 1) item.only_owner = ParseOwner(body.substr(sizeof(btrfs_extent_item)));
  return item;
}

std::optional<ChunkItem> ParseChunkItem(absl::string_view body) {
  if (body.size() < offsetof(btrfs_chunk, stripe)) return std::nullopt;
  return ChunkItem{.length = LOAD_FIELD(uint64_t, body, btrfs_chunk, length),
                   .type = LOAD_FIELD(uint64_t, body, btrfs_chunk, type)};
}

std::optional<InodeItem> ParseInodeItem(absl::string_view body) {
  if (body.size() < sizeof(btrfs_inode_item)) return std::nullopt;
  return InodeItem{.size = LOAD_FIELD(uint64_t, body, btrfs_inode_item, size),
                   .link_count = LOAD_FIELD(uint32_t, body, btrfs_inode_item, nlink),
                   .mode = LOAD_FIELD(uint32_t, body, btrfs_inode_item, mode),
                   .flags = LOAD_FIELD(uint64_t, body, btrfs_inode_item, flags)};
}

void ParseInodeRef(absl::string_view body, uint64_t parent, std::vector<InodeLink>& links) {
  while (body.size() >= sizeof(btrfs_inode_ref)) {
    const size_t name_bytes = LOAD_FIELD(uint16_t, body, btrfs_inode_ref, name_len);
    body.remove_prefix(sizeof(btrfs_inode_ref));
    if (name_bytes == 0 || name_bytes > body.size()) return;
    links.push_back({.parent = parent, .name = std::string(body.substr(0, name_bytes))});
    body.remove_prefix(name_bytes);
  }
}

void ParseInodeExtref(absl::string_view body, std::vector<InodeLink>& links) {
  while (body.size() >= sizeof(btrfs_inode_extref)) {
    const uint64_t parent = LOAD_FIELD(uint64_t, body, btrfs_inode_extref, parent_objectid);
    const size_t name_bytes = LOAD_FIELD(uint16_t, body, btrfs_inode_extref, name_len);
    body.remove_prefix(sizeof(btrfs_inode_extref));
    if (name_bytes == 0 || name_bytes > body.size()) return;
    links.push_back({.parent = parent, .name = std::string(body.substr(0, name_bytes))});
    body.remove_prefix(name_bytes);
  }
}

std::optional<RootBackref> ParseRootBackref(absl::string_view body) {
  if (body.size() < sizeof(btrfs_root_ref)) return std::nullopt;
  const size_t name_bytes = LOAD_FIELD(uint16_t, body, btrfs_root_ref, name_len);
  if (name_bytes == 0 || name_bytes > body.size() - sizeof(btrfs_root_ref)) return std::nullopt;
  return RootBackref{.directory = LOAD_FIELD(uint64_t, body, btrfs_root_ref, dirid),
                     .name = std::string(body.substr(sizeof(btrfs_root_ref), name_bytes))};
}

std::optional<RootItem> ParseRootItem(absl::string_view body) {
  // Items written before Linux 3.6 end before `generation_v2` and know no uuids.
  if (body.size() < offsetof(btrfs_root_item, generation_v2)) return std::nullopt;
  RootItem item;
  item.read_only =
      (LOAD_FIELD(uint64_t, body, btrfs_root_item, flags) & BTRFS_ROOT_SUBVOL_RDONLY) != 0;
  item.references = LOAD_FIELD(uint32_t, body, btrfs_root_item, refs);
  item.last_snapshot = LOAD_FIELD(uint64_t, body, btrfs_root_item, last_snapshot);
  if (body.size() >= offsetof(btrfs_root_item, received_uuid)) {
    std::memcpy(item.uuid.data(), body.data() + offsetof(btrfs_root_item, uuid), 16);
    const char* parent = body.data() + offsetof(btrfs_root_item, parent_uuid);
    item.has_parent_uuid = std::any_of(parent, parent + 16, [](char c) { return c != 0; });
  }
  return item;
}

std::optional<FileExtent> ParseFileExtent(absl::string_view body) {
  constexpr size_t kInlineHeader = offsetof(btrfs_file_extent_item, disk_bytenr);
  if (body.size() < kInlineHeader) return std::nullopt;
  FileExtent extent;
  extent.ram_bytes = LOAD_FIELD(uint64_t, body, btrfs_file_extent_item, ram_bytes);
  extent.compression = LOAD_FIELD(uint8_t, body, btrfs_file_extent_item, compression);
  extent.encoding = LOAD_FIELD(uint8_t, body, btrfs_file_extent_item, encryption) |
                    (LOAD_FIELD(uint16_t, body, btrfs_file_extent_item, other_encoding) != 0);
  switch (LOAD_FIELD(uint8_t, body, btrfs_file_extent_item, type)) {
    case BTRFS_FILE_EXTENT_INLINE: extent.kind = FileExtent::Kind::kInline; return extent;
    case BTRFS_FILE_EXTENT_REG: extent.kind = FileExtent::Kind::kRegular; break;
    case BTRFS_FILE_EXTENT_PREALLOC: extent.kind = FileExtent::Kind::kPreallocated; break;
    default: return std::nullopt;
  }
  if (body.size() < sizeof(btrfs_file_extent_item)) return std::nullopt;
  extent.disk_address = LOAD_FIELD(uint64_t, body, btrfs_file_extent_item, disk_bytenr);
  extent.disk_bytes = LOAD_FIELD(uint64_t, body, btrfs_file_extent_item, disk_num_bytes);
  extent.offset = LOAD_FIELD(uint64_t, body, btrfs_file_extent_item, offset);
  extent.length = LOAD_FIELD(uint64_t, body, btrfs_file_extent_item, num_bytes);
  // Holes may be of any length, data may not.
  const uint64_t most = static_cast<uint64_t>(kExtentBytesMax);
  if (extent.disk_address != 0 &&
      (extent.length == 0 || extent.length > most || extent.offset > most)) {
    return std::nullopt;
  }
  return extent;
}

}  // namespace onefold
