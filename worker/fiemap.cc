#include "worker/fiemap.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

// Records of one call: most files have one, and the kernel does not fill what it does not need.
constexpr uint32_t kRecordsPerCall = 128;
// A file in more pieces is not looked at: nobody would want it in more.
constexpr size_t kMappingsMax = size_t{1} << 22;
// Of the synthetic addresses that walks give to compressed data (walk_map.h).
constexpr uint64_t kAddressMax = uint64_t{1} << 55;

constexpr uint32_t kUnknownKinds = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
                                   FIEMAP_EXTENT_DATA_ENCRYPTED | FIEMAP_EXTENT_DATA_TAIL;
constexpr uint32_t kInlineKinds = FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED;

}  // namespace

bool TakeFiemapRecord(uint64_t logical, uint64_t physical, uint64_t length, uint32_t flags,
                      uint64_t file_bytes, uint64_t block_bytes, FileMapping& mapping,
                      UnmappedBytes& left_out) {
  const uint64_t file_end = (file_bytes + block_bytes - 1) / block_bytes * block_bytes;
  if (logical >= file_end || length == 0 || length > INT64_MAX - logical) return false;
  length = std::min(length, file_end - logical);
  if (flags & kInlineKinds) {
    left_out.inlined += length;
    return false;
  }
  if (flags & FIEMAP_EXTENT_UNWRITTEN) {
    left_out.preallocated += length;
    return false;
  }
  const bool aligned =
      logical % block_bytes == 0 && physical % block_bytes == 0 && length % block_bytes == 0;
  if ((flags & kUnknownKinds) != 0 || !aligned || physical == 0 ||
      physical > kAddressMax - std::min(length, kAddressMax)) {
    left_out.unknown += length;
    return false;
  }
  mapping = {.file_offset = logical,
             .address = physical,
             .length = length,
             .shared = (flags & FIEMAP_EXTENT_SHARED) != 0,
             .compressed = (flags & FIEMAP_EXTENT_ENCODED) != 0};
  return true;
}

absl::Status ReadFileMap(int fd, uint64_t file_bytes, uint64_t block_bytes,
                         std::vector<FileMapping>& mappings, UnmappedBytes& left_out) {
  alignas(8) char storage[sizeof(fiemap) + kRecordsPerCall * sizeof(fiemap_extent)];
  auto* args = reinterpret_cast<fiemap*>(storage);
  const size_t size_before = mappings.size();
  for (uint64_t start = 0; start < file_bytes;) {
    std::memset(args, 0, sizeof(*args));
    args->fm_start = start;
    args->fm_length = UINT64_MAX - start;
    args->fm_extent_count = kRecordsPerCall;
    if (ioctl(fd, FS_IOC_FIEMAP, args) != 0) {
      const int error = errno;
      mappings.resize(size_before);
      if (error == ENOTTY || error == EOPNOTSUPP || error == EBADR) {
        return absl::UnimplementedError("this filesystem does not tell where data lies (FIEMAP)");
      }
      return StatusFromErrno(error, "asking where it lies");
    }
    const uint32_t count = std::min(args->fm_mapped_extents, kRecordsPerCall);
    if (count == 0) break;
    bool last = false;
    uint64_t next = start;
    for (uint32_t i = 0; i < count; ++i) {
      const fiemap_extent& record = args->fm_extents[i];
      FileMapping mapping;
      if (record.fe_logical >= next &&
          TakeFiemapRecord(record.fe_logical, record.fe_physical, record.fe_length, record.fe_flags,
                           file_bytes, block_bytes, mapping, left_out)) {
        mappings.push_back(mapping);
      }
      const uint64_t end = record.fe_logical + record.fe_length;
      if (end > next) next = end;
      last = (record.fe_flags & FIEMAP_EXTENT_LAST) != 0;
    }
    if (last || next <= start) break;  // nothing new: a file that changes as we look
    if (mappings.size() - size_before > kMappingsMax) {
      mappings.resize(size_before);
      return absl::UnimplementedError("it lies in more pieces than a run looks at");
    }
    start = next;
  }
  return absl::OkStatus();
}

}  // namespace onefold
