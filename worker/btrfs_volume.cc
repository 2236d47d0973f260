#include "worker/btrfs_volume.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "worker/btrfs_errno.h"
#include "worker/btrfs_items.h"
#include "worker/fd_file.h"

namespace onefold {
namespace {

// The handle that open_by_handle_at takes on btrfs (FILEID_BTRFS_WITHOUT_PARENT):
// fs/btrfs/export.h.
struct BtrfsHandle {
  uint64_t inode;
  uint64_t subvolume;
  uint32_t generation;  // 0: any
};
constexpr int kBtrfsHandleType = 0x4d;
constexpr int kBtrfsHandleBytes = 20;

// An O_TMPFILE.
class BtrfsScratchFile final : public ScratchFile, public HasFd {
 public:
  BtrfsScratchFile(Volume& volume, const InodeId& id, Fd fd)
      : volume_(volume), id_(id), file_(std::move(fd), /*may_read=*/true) {}

  absl::StatusOr<int64_t> Read(int64_t offset, absl::Span<char> buffer) override {
    return file_.Read(offset, buffer);
  }
  std::vector<bool> ResidentPages(int64_t offset, int64_t length) override {
    return file_.ResidentPages(offset, length);
  }
  void DropPages(int64_t offset, int64_t length) override { file_.DropPages(offset, length); }
  int fd() const override { return file_.fd(); }

  absl::Status Write(int64_t offset, absl::string_view data) override {
    while (!data.empty()) {
      const ssize_t written = pwrite(fd(), data.data(), data.size(), offset);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return WriteError("writing to a scratch file");
      data.remove_prefix(static_cast<size_t>(written));
      offset += written;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> DiskBytes() override {
    const TreeRange range{.tree = id_.subvolume,
                          .first = {id_.inode, kExtentData, 0},
                          .last = {id_.inode, kExtentData, UINT64_MAX}};
    int64_t bytes = 0;
    uint64_t last = 0;  // pieces of one extent follow one another
    RETURN_IF_ERROR(volume_.Search(range, [&](const TreeItem& item) {
      const auto extent = ParseFileExtent(item.body);
      if (extent && extent->kind == FileExtent::Kind::kRegular && extent->disk_address != 0 &&
          std::exchange(last, extent->disk_address) != extent->disk_address) {
        bytes += static_cast<int64_t>(extent->disk_bytes);
      }
      return true;
    }));
    return bytes;
  }

  absl::Status Clear() override {
    if (ftruncate(fd(), 0) != 0) return WriteError("emptying a scratch file");
    return absl::OkStatus();
  }

 private:
  static absl::Status WriteError(const char* what) {
    const int error = errno;
    return error == ENOSPC || error == EDQUOT
               ? absl::ResourceExhaustedError(absl::StrCat(what, ": no space"))
               : StatusFromErrno(error, what);
  }

  Volume& volume_;
  const InodeId id_;
  FdFile file_;
};

class BtrfsVolume final : public Volume {
 public:
  BtrfsVolume(Fd mount, VolumeInfo info) : mount_(std::move(mount)), info_(info) {}

  const VolumeInfo& info() const override { return info_; }

  absl::Status Search(const TreeRange& range,
                      const std::function<bool(const TreeItem&)>& visit) override;
  absl::StatusOr<std::vector<RawReference>> References(uint64_t address,
                                                       int64_t reference_max) override;
  absl::StatusOr<std::unique_ptr<OpenFile>> Open(const InodeId& file) override;
  absl::StatusOr<std::unique_ptr<ScratchFile>> NewScratchFile(const InodeId& directory) override;
  int Dedupe(OpenFile& source, int64_t offset, int64_t length,
             absl::Span<DedupeDestination> destinations) override;
  absl::StatusOr<int64_t> Commit() override;
  absl::StatusOr<int64_t> Generation() override;
  absl::StatusOr<SpaceInfo> Space() override;

  // UNAVAILABLE: another run has taken it.
  absl::Status Take();

 private:
  // A file descriptor, or -1 and errno.
  int OpenInode(const InodeId& file, int flags);

  const Fd mount_;
  const VolumeInfo info_;
  std::unique_ptr<OpenFile> taken_;
};

// Memory for the argument of an ioctl, aligned for any struct. Small ones are kept for the thread's
// next call: look-ups come by the hundred thousand.
class ScratchBuffer {
 public:
  explicit ScratchBuffer(size_t bytes) : words_((bytes + 7) / 8) {
    std::vector<Memory>& kept = Kept();
    if (!kept.empty() && words_ <= kKeptWords) {
      memory_ = std::move(kept.back());
      kept.pop_back();
    } else {
      memory_ = std::make_unique_for_overwrite<uint64_t[]>(std::max(words_, kKeptWords));
    }
  }
  ~ScratchBuffer() {
    // A search inside the callback of another one needs a second buffer; more are not nested.
    if (words_ <= kKeptWords && Kept().size() < 2) Kept().push_back(std::move(memory_));
  }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;

  void* data() { return memory_.get(); }

 private:
  using Memory = std::unique_ptr<uint64_t[]>;
  static constexpr size_t kKeptWords = (65536 + 256) / 8;
  static std::vector<Memory>& Kept() {
    thread_local std::vector<Memory> kept;
    return kept;
  }
  const size_t words_;
  Memory memory_;
};

absl::Status BtrfsVolume::Search(const TreeRange& range,
                                 const std::function<bool(const TreeItem&)>& visit) {
  // An item may be as large as a node: a smaller buffer would answer EOVERFLOW.
  const size_t buffer_bytes = std::max<size_t>(range.buffer_bytes, info_.node_bytes);
  ScratchBuffer storage(sizeof(btrfs_ioctl_search_args_v2) + buffer_bytes);
  auto* args = static_cast<btrfs_ioctl_search_args_v2*>(storage.data());
  const char* buffer = reinterpret_cast<const char*>(args->buf);
  TreeKey first = range.first;
  while (true) {
    std::memset(args, 0, sizeof(*args));
    args->buf_size = buffer_bytes;
    btrfs_ioctl_search_key& key = args->key;
    key.tree_id = range.tree;
    key.min_objectid = first.object;
    key.min_type = first.type;
    key.min_offset = first.offset;
    key.max_objectid = range.last.object;
    key.max_type = range.last.type;
    key.max_offset = range.last.offset;
    key.min_transid = range.leaf_generation_min;
    key.max_transid = UINT64_MAX;
    key.nr_items = range.item_count > 0 ? range.item_count : UINT32_MAX;
    if (ioctl(mount_.get(), BTRFS_IOC_TREE_SEARCH_V2, args) != 0) {
      return StatusFromErrno(errno, absl::StrCat("reading btrfs tree ", range.tree));
    }
    if (key.nr_items == 0) return absl::OkStatus();
    size_t at = 0;
    for (uint32_t i = 0; i < key.nr_items; ++i) {
      btrfs_ioctl_search_header header;
      CHECK(at + sizeof(header) <= buffer_bytes);
      std::memcpy(&header, buffer + at, sizeof(header));
      at += sizeof(header);
      CHECK(header.len <= buffer_bytes - at);
      const TreeItem item{
          .key = {header.objectid, static_cast<uint8_t>(header.type), header.offset},
          .body = absl::string_view(buffer + at, header.len)};
      at += header.len;
      first = item.key;
      if (!visit(item)) return absl::OkStatus();
    }
    // The next key after the last one seen.
    if (++first.offset == 0 && ++first.type == 0 && ++first.object == 0) return absl::OkStatus();
    if (first > range.last) return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<RawReference>> BtrfsVolume::References(uint64_t address,
                                                                  int64_t reference_max) {
  // The kernel clears the whole buffer first: milliseconds for 16 MiB, so it starts with 170
  // references.
  size_t bytes = 4096;
  constexpr size_t kBytesMax = 16 << 20;  // the kernel's own limit
  while (true) {
    ScratchBuffer storage(bytes);
    auto* container = static_cast<btrfs_data_container*>(storage.data());
    btrfs_ioctl_logical_ino_args args = {};
    args.logical = address;
    args.size = bytes;
    args.flags = BTRFS_LOGICAL_INO_ARGS_IGNORE_OFFSET;
    args.inodes = reinterpret_cast<uint64_t>(container);
    if (ioctl(mount_.get(), BTRFS_IOC_LOGICAL_INO_V2, &args) != 0) {
      return StatusFromErrno(errno,
                             absl::StrCat("looking up references of the extent at ", address));
    }
    const int64_t count = (int64_t{container->elem_cnt} + container->elem_missed) / 3;
    if (count > reference_max) {
      return absl::ResourceExhaustedError(absl::StrCat(count, " references"));
    }
    if (container->elem_missed > 0) {
      if (bytes == kBytesMax) return absl::ResourceExhaustedError("too many references");
      bytes = std::min(kBytesMax, std::max(bytes * 8, bytes + container->bytes_missing * 2));
      continue;
    }
    CHECK(container->elem_cnt % 3 == 0 && container->elem_cnt * 8 <= bytes);
    std::vector<RawReference> references(container->elem_cnt / 3);
    for (size_t i = 0; i < references.size(); ++i) {
      const __u64* value = container->val + 3 * i;
      references[i] = {.file = {.subvolume = value[2], .inode = value[0]}, .file_offset = value[1]};
    }
    return references;
  }
}

int BtrfsVolume::OpenInode(const InodeId& file, int flags) {
  const BtrfsHandle body{.inode = file.inode, .subvolume = file.subvolume, .generation = 0};
  alignas(file_handle) char storage[sizeof(file_handle) + sizeof(body)];
  auto* handle = reinterpret_cast<file_handle*>(storage);
  handle->handle_bytes = kBtrfsHandleBytes;
  handle->handle_type = kBtrfsHandleType;
  std::memcpy(handle->f_handle, &body, sizeof(body));
  return open_by_handle_at(mount_.get(), handle, flags | O_CLOEXEC);
}

absl::StatusOr<std::unique_ptr<OpenFile>> BtrfsVolume::Open(const InodeId& file) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
  bool may_read = true;
  int fd = OpenInode(file, kFlags | O_NOATIME);
  if (fd < 0 && errno == EPERM) {
    // Without CAP_FOWNER: dedupe still works, but reading would change the access time.
    may_read = false;
    fd = OpenInode(file, kFlags);
  }
  if (fd < 0) {
    return StatusFromErrno(
        errno, absl::StrCat("opening inode ", file.inode, " of subvolume ", file.subvolume));
  }
  return std::make_unique<FdFile>(Fd(fd), may_read);
}

absl::StatusOr<std::unique_ptr<ScratchFile>> BtrfsVolume::NewScratchFile(const InodeId& directory) {
  const Fd parent(OpenInode(directory, O_RDONLY | O_DIRECTORY));
  if (parent.get() < 0) {
    const absl::Status status = StatusFromErrno(errno, "no directory for scratch files: opening");
    return IsTooManyOpenFiles(status) ? status : absl::FailedPreconditionError(status.message());
  }
  Fd fd(openat(parent.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  struct stat status = {};
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) {
    const int error = errno;
    if (error == ENOSPC || error == EDQUOT) {
      return absl::ResourceExhaustedError("making a scratch file: no space");
    }
    const absl::Status failed = StatusFromErrno(error, "no scratch file: making one");
    return IsTooManyOpenFiles(failed) ? failed : absl::FailedPreconditionError(failed.message());
  }
  // What a file inherits from its directory must not keep others from sharing with it, and what is
  // written must be what is counted on. Where flags cannot be set, the kernel's answer tells.
  int flags = 0;
  if (ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) == 0) {
    // One after the other: the kernel takes no file from nodatacow to any word about compression.
    const int cleared = flags & ~(FS_NOCOW_FL | FS_COMPR_FL);
    const int wanted = cleared | FS_NOCOMP_FL;
    if (cleared != flags) ioctl(fd.get(), FS_IOC_SETFLAGS, &cleared);
    ioctl(fd.get(), FS_IOC_SETFLAGS, &wanted);
  }
  const InodeId id{.subvolume = directory.subvolume, .inode = status.st_ino};
  return std::make_unique<BtrfsScratchFile>(*this, id, std::move(fd));
}

absl::Status BtrfsVolume::Take() {
  ASSIGN_OR_RETURN(taken_, Open({.subvolume = kFsTree, .inode = kFirstFreeObject}));
  if (flock(FdOf(*taken_), LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return StatusFromErrno(errno, "locking the top-level directory");
  return absl::UnavailableError(
      "another run of onefold is working on this filesystem (its top-level directory is locked); "
      "wait until it has ended");
}

int BtrfsVolume::Dedupe(OpenFile& source, int64_t offset, int64_t length,
                        absl::Span<DedupeDestination> destinations) {
  return DedupeRange(source, offset, length, destinations);
}

absl::StatusOr<int64_t> BtrfsVolume::Commit() {
  // SYNC writes delayed allocation out; what it commits is older than the transaction that
  // START_SYNC names, so waiting for that one covers everything.
  if (ioctl(mount_.get(), BTRFS_IOC_SYNC, nullptr) != 0) return StatusFromErrno(errno, "syncing");
  uint64_t transaction = 0;
  if (ioctl(mount_.get(), BTRFS_IOC_START_SYNC, &transaction) != 0) {
    return StatusFromErrno(errno, "starting a commit");
  }
  if (ioctl(mount_.get(), BTRFS_IOC_WAIT_SYNC, &transaction) != 0) {
    return StatusFromErrno(errno, "waiting for a commit");
  }
  return static_cast<int64_t>(transaction);
}

absl::StatusOr<btrfs_ioctl_fs_info_args> FsInfo(int fd) {
  btrfs_ioctl_fs_info_args info = {};
  info.flags = BTRFS_FS_INFO_FLAG_CSUM_INFO | BTRFS_FS_INFO_FLAG_GENERATION;
  if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) return StatusFromErrno(errno, "asking for btrfs");
  return info;
}

absl::StatusOr<int64_t> BtrfsVolume::Generation() {
  ASSIGN_OR_RETURN(const btrfs_ioctl_fs_info_args info, FsInfo(mount_.get()));
  return static_cast<int64_t>(info.generation);
}

absl::StatusOr<SpaceInfo> BtrfsVolume::Space() {
  btrfs_ioctl_space_args count = {};
  if (ioctl(mount_.get(), BTRFS_IOC_SPACE_INFO, &count) != 0) {
    return StatusFromErrno(errno, "asking for space");
  }
  const size_t slots = count.total_spaces + 4;
  ScratchBuffer storage(sizeof(count) + slots * sizeof(btrfs_ioctl_space_info));
  auto* args = static_cast<btrfs_ioctl_space_args*>(storage.data());
  *args = {};
  args->space_slots = slots;
  if (ioctl(mount_.get(), BTRFS_IOC_SPACE_INFO, args) != 0) {
    return StatusFromErrno(errno, "asking for space");
  }
  SpaceInfo space;
  for (uint64_t i = 0; i < std::min<uint64_t>(args->total_spaces, slots); ++i) {
    const btrfs_ioctl_space_info& entry = args->spaces[i];
    if (entry.flags & BTRFS_SPACE_INFO_GLOBAL_RSV) {
      space.reserved += entry.total_bytes;
      continue;
    }
    if (entry.flags & BTRFS_BLOCK_GROUP_DATA) {
      space.data_used += entry.used_bytes;
      space.data_total += entry.total_bytes;
    }
    if (entry.flags & BTRFS_BLOCK_GROUP_METADATA) {
      space.metadata_used += entry.used_bytes;
      space.metadata_total += entry.total_bytes;
      int64_t copies = 1;
      if (entry.flags &
          (BTRFS_BLOCK_GROUP_DUP | BTRFS_BLOCK_GROUP_RAID1 | BTRFS_BLOCK_GROUP_RAID10)) {
        copies = 2;
      } else if (entry.flags & BTRFS_BLOCK_GROUP_RAID1C3) {
        copies = 3;
      } else if (entry.flags & BTRFS_BLOCK_GROUP_RAID1C4) {
        copies = 4;
      }
      space.metadata_copies = std::max(space.metadata_copies, copies);
    }
  }
  ASSIGN_OR_RETURN(const btrfs_ioctl_fs_info_args info, FsInfo(mount_.get()));
  for (uint64_t id = 0, seen = 0; id <= info.max_id && seen < info.num_devices; ++id) {
    btrfs_ioctl_dev_info_args device = {};
    device.devid = id;
    if (ioctl(mount_.get(), BTRFS_IOC_DEV_INFO, &device) != 0) continue;
    ++seen;
    space.device_bytes += device.total_bytes;
    // bytes_used of a device are those that chunks were allocated from.
    space.unallocated += device.total_bytes - std::min(device.total_bytes, device.bytes_used);
  }
  return space;
}

absl::StatusOr<VolumeInfo> ReadVolumeInfo(int fd, const std::string& path) {
  const absl::StatusOr<btrfs_ioctl_fs_info_args> info = FsInfo(fd);
  if (!info.ok()) {
    return absl::UnimplementedError(
        absl::StrCat(path, " is not on btrfs (", info.status().message(), ")"));
  }
  VolumeInfo volume;
  std::copy(std::begin(info->fsid), std::end(info->fsid), volume.uuid.bytes.begin());
  volume.block_bytes = info->sectorsize;
  volume.node_bytes = info->nodesize;
  if (info->flags & BTRFS_FS_INFO_FLAG_CSUM_INFO) {
    volume.checksum_kind = info->csum_type + 1;  // the proto's values are the kernel's plus one
    volume.checksum_bytes = info->csum_size;
  } else {  // kernels before 5.5 know crc32c only
    volume.checksum_kind = kChecksumKindCrc32c;
    volume.checksum_bytes = 4;
  }
  if (volume.checksum_kind > kChecksumKindMax || volume.checksum_bytes < 1 ||
      volume.checksum_bytes > 32 || volume.block_bytes < kBlockBytesMin ||
      volume.block_bytes > kBlockBytesMax) {
    return absl::UnimplementedError(absl::StrCat(path, ": block size ", volume.block_bytes,
                                                 " or checksum type ", info->csum_type,
                                                 " is not known to this version of onefold"));
  }
  return volume;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Volume>> OpenBtrfsVolume(const std::string& path, Access access) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return StatusFromErrno(errno, absl::StrCat("opening ", path));
  ASSIGN_OR_RETURN(const VolumeInfo info, ReadVolumeInfo(fd.get(), path));
  auto volume = std::make_unique<BtrfsVolume>(std::move(fd), info);
  // Fails now rather than in the middle: without privilege, or on a kernel before 3.16.
  RETURN_IF_ERROR(volume->Search({.tree = 1, .first = {5, 132, 0}, .last = {5, 132, 0}},
                                 [](const TreeItem&) { return false; }),
                  "reading the trees of ", path);
  if (access == Access::kChanging) RETURN_IF_ERROR(volume->Take());
  return volume;
}

}  // namespace onefold
