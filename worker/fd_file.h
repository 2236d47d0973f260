// Files by descriptor: what every Volume on a mounted filesystem has in common.

#ifndef ONEFOLD_WORKER_FD_FILE_H_
#define ONEFOLD_WORKER_FD_FILE_H_

#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/volume.h"

namespace onefold {

// Owns a descriptor; -1 is none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// What FIDEDUPERANGE takes.
class HasFd {
 public:
  virtual ~HasFd() = default;
  virtual int fd() const = 0;
};
// `file` must be a HasFd.
int FdOf(OpenFile& file);

// A file that was opened read-only. Thread-safe.
class FdFile : public OpenFile, public HasFd {
 public:
  // `may_read`: reading does not change the access time. If not, Read reads nothing.
  FdFile(Fd fd, bool may_read) : fd_(std::move(fd)), may_read_(may_read) {}

  absl::StatusOr<int64_t> Read(int64_t offset, absl::Span<char> buffer) override;
  std::vector<bool> ResidentPages(int64_t offset, int64_t length) override;
  void DropPages(int64_t offset, int64_t length) override;
  int fd() const override { return fd_.get(); }

 private:
  // How many pages of the range are cached; -1 on kernels before 6.5.
  int64_t CachedPages(int64_t offset, int64_t length) const;

  const Fd fd_;
  const bool may_read_;
};

// FIDEDUPERANGE: see Volume::Dedupe.
int DedupeRange(OpenFile& source, int64_t offset, int64_t length,
                absl::Span<DedupeDestination> destinations);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_FD_FILE_H_
