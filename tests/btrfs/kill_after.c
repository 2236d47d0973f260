// Kills its process after a step that changes a volume: LD_PRELOAD it, ONEFOLD_KILL_AFTER=N.
//
// Steps are: making a nameless file, emptying it, writing to it, and FIDEDUPERANGE.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static int steps;
static char is_scratch[65536];  // by descriptor

static void step(void) {
  const char* last = getenv("ONEFOLD_KILL_AFTER");
  if (__atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST) == (last ? atoi(last) : -1)) {
    kill(getpid(), SIGKILL);
  }
}

static int known(int fd) { return fd >= 0 && fd < (int)sizeof(is_scratch) && is_scratch[fd]; }

int openat64(int at, const char* path, int flags, ...) {
  static int (*real)(int, const char*, int, ...);
  if (!real) real = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const int fd = real(at, path, flags, mode);
  if (fd >= 0 && fd < (int)sizeof(is_scratch)) {
    is_scratch[fd] = (flags & __O_TMPFILE) != 0;
    if (is_scratch[fd]) step();
  }
  return fd;
}
int openat(int at, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat64(at, path, flags, mode);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off64_t);
  if (!real) real = (ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  const ssize_t written = real(fd, data, size, offset);
  if (known(fd)) step();
  return written;
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return pwrite64(fd, data, size, offset);
}

int ftruncate64(int fd, off64_t size) {
  static int (*real)(int, off64_t);
  if (!real) real = (int (*)(int, off64_t))dlsym(RTLD_NEXT, "ftruncate64");
  const int result = real(fd, size);
  if (known(fd)) step();
  return result;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int ioctl(int fd, unsigned long request, ...) {
  static int (*real)(int, unsigned long, ...);
  if (!real) real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  const int result = real(fd, request, argument);
  if (request == FIDEDUPERANGE) step();
  return result;
}
