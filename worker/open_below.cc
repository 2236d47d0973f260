#include "worker/open_below.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace onefold {
namespace {

constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
// O_PATH takes nothing that is about reading.
int WithFlags(int flags) {
  return flags | ((flags & O_PATH) != 0 ? O_NOFOLLOW | O_CLOEXEC : kFlags);
}
// What one call takes, its end included.
constexpr size_t kPathBytesMax = PATH_MAX - 1;

constexpr uint64_t kBelow =
    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;

int OpenAt2(int directory, const char* path, int flags, uint64_t resolve = kBelow) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(WithFlags(flags));
  how.resolve = resolve;
  return static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof(how)));
}

// Whether the kernel, and the filter of a container, know openat2. Asked once.
bool HasOpenAt2() {
  static const bool has = [] {
    const Fd fd(OpenAt2(AT_FDCWD, ".", O_PATH | O_DIRECTORY));
    return fd.get() >= 0 || (errno != ENOSYS && errno != EPERM);
  }();
  return has;
}

// One component, without openat2: `parent` and what is opened must lie on one filesystem.
Fd OpenEntry(int parent, const std::string& name, int flags) {
  if (name == ".." || name == ".") {
    errno = ELOOP;
    return Fd();
  }
  return Fd(openat(parent, name.c_str(), WithFlags(flags)));
}

}  // namespace

Fd OpenBelow(int directory, const std::string& path, int flags) {
  const std::string whole = path.empty() ? "." : path;
  if (HasOpenAt2() && whole.size() < kPathBytesMax) {
    int fd;
    do {
      fd = OpenAt2(directory, whole.c_str(), flags);
    } while (fd < 0 && errno == EAGAIN);  // something was renamed at that moment
    return Fd(fd);
  }
  if (path.empty()) return Fd(openat(directory, ".", WithFlags(flags)));
  Fd parent;
  int at = directory;
  absl::string_view rest = path;
  while (true) {
    // As much at a time as one call takes, with openat2; else one component.
    size_t end = HasOpenAt2() && rest.size() >= kPathBytesMax ? rest.rfind('/', kPathBytesMax - 1)
                 : HasOpenAt2()                               ? absl::string_view::npos
                                                              : rest.find('/');
    const bool last = end == absl::string_view::npos;
    const std::string part(rest.substr(0, end));
    const int part_flags = last ? flags : O_PATH | O_DIRECTORY;
    Fd next =
        HasOpenAt2() ? Fd(OpenAt2(at, part.c_str(), part_flags)) : OpenEntry(at, part, part_flags);
    if (next.get() < 0 || last) return next;
    parent = std::move(next);
    at = parent.get();
    rest.remove_prefix(end + 1);
  }
}

Fd OpenResolved(const std::string& path, int flags) {
  // Linux before 5.6, or a container's filter that does not know the call.
  if (!HasOpenAt2()) return Fd(open(path.c_str(), WithFlags(flags)));
  return Fd(OpenAt2(AT_FDCWD, path.c_str(), flags, RESOLVE_NO_SYMLINKS));
}

}  // namespace onefold
