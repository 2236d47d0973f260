#include "worker/fd_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "common/check.h"
#include "worker/btrfs_errno.h"

namespace onefold {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

int FdOf(OpenFile& file) { return dynamic_cast<HasFd&>(file).fd(); }

absl::StatusOr<int64_t> FdFile::Read(int64_t offset, absl::Span<char> buffer) {
  if (!may_read_) return 0;
  ssize_t got;
  do {
    got = pread(fd_.get(), buffer.data(), buffer.size(), offset);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return StatusFromErrno(errno, "reading");
  return got;
}

std::vector<bool> FdFile::ResidentPages(int64_t offset, int64_t length) {
  const int64_t begin = offset / kPageBytes * kPageBytes;
  const int64_t bytes = offset + length - begin;
  const int64_t count = (bytes + kPageBytes - 1) / kPageBytes;
  // One cheap call tells the two usual cases, none and all.
  if (const int64_t cached = CachedPages(begin, bytes); cached == 0 || cached == count) {
    return std::vector<bool>(count, cached > 0);
  }
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_.get(), begin);
  if (map == MAP_FAILED) return {};
  const absl::Cleanup unmap = [&] { munmap(map, bytes); };
  std::vector<unsigned char> pages(count);
  if (mincore(map, bytes, pages.data()) != 0) return {};
  std::vector<bool> resident(pages.size());
  std::transform(pages.begin(), pages.end(), resident.begin(),
                 [](unsigned char page) { return (page & 1) != 0; });
  return resident;
}

void FdFile::DropPages(int64_t offset, int64_t length) {
  posix_fadvise(fd_.get(), offset, length, POSIX_FADV_DONTNEED);
}

int64_t FdFile::CachedPages(int64_t offset, int64_t length) const {
  constexpr long kCachestat = 451;  // not in Debian 12's headers; one number on all machines
  struct {
    uint64_t offset, length;
  } range = {static_cast<uint64_t>(offset), static_cast<uint64_t>(length)};
  struct {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } answer = {};
  if (syscall(kCachestat, fd_.get(), &range, &answer, 0) != 0) return -1;
  return static_cast<int64_t>(answer.cached);
}

int DedupeRange(OpenFile& source, int64_t offset, int64_t length,
                absl::Span<DedupeDestination> destinations) {
  CHECK(destinations.size() <= kDedupeDestinationsMax);
  alignas(8) char storage[kPageBytes] = {};
  auto* args = reinterpret_cast<file_dedupe_range*>(storage);
  args->src_offset = offset;
  args->src_length = length;
  args->dest_count = destinations.size();
  for (size_t i = 0; i < destinations.size(); ++i) {
    args->info[i].dest_fd = FdOf(*destinations[i].file);
    args->info[i].dest_offset = destinations[i].offset;
  }
  if (ioctl(FdOf(source), FIDEDUPERANGE, args) != 0) return errno;
  for (size_t i = 0; i < destinations.size(); ++i) {
    destinations[i].status = args->info[i].status;
    destinations[i].bytes = args->info[i].bytes_deduped;
  }
  return 0;
}

}  // namespace onefold
