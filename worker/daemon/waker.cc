#include "worker/daemon/waker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "common/check.h"

namespace onefold {

Waker::Waker(const std::string& mountinfo)
    : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      mounts_fd_(::open(mountinfo.c_str(), O_RDONLY | O_CLOEXEC)) {
  CHECK(wake_fd_ >= 0);
}

Waker::~Waker() {
  ::close(wake_fd_);
  if (mounts_fd_ >= 0) ::close(mounts_fd_);
}

void Waker::Wake() {
  const uint64_t one = 1;
  (void)!::write(wake_fd_, &one, sizeof(one));
}

Waker::Reason Waker::Wait(absl::Duration span) {
  // The kernel tells of changed mounts as of an error of the file (proc(5)).
  pollfd files[] = {{.fd = wake_fd_, .events = POLLIN, .revents = 0},
                    {.fd = mounts_fd_, .events = POLLPRI, .revents = 0}};
  const int64_t millis = absl::ToInt64Milliseconds(
      absl::Ceil(std::clamp(span, absl::ZeroDuration(), absl::Hours(1)), absl::Milliseconds(1)));
  if (::poll(files, 2, static_cast<int>(millis)) <= 0) return Reason::kTime;
  if (files[0].revents != 0) {
    uint64_t count = 0;
    (void)!::read(wake_fd_, &count, sizeof(count));
    return Reason::kWoken;
  }
  return Reason::kMounts;
}

}  // namespace onefold
