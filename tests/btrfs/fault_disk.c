// fault_disk [fuse options] IMAGE MOUNTPOINT: shows IMAGE as MOUNTPOINT/disk.img, fails on demand.
//
// A loop device on disk.img is a disk that can go bad in the middle of a test. Writing "NAME=VALUE"
// to MOUNTPOINT/control sets one of
//
//   bad_begin, bad_end      reads that touch these bytes fail with EIO
//   rotten_begin, rotten_end  these bytes are read inverted: a checksum error
//   fail_writes             1: every write and flush fails with EIO
//   read_delay_us           each read takes this much longer

#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int image_fd;

enum { kBadBegin, kBadEnd, kRottenBegin, kRottenEnd, kFailWrites, kReadDelayUs, kSettingCount };
static const char* const setting_names[kSettingCount] = {
    "bad_begin", "bad_end", "rotten_begin", "rotten_end", "fail_writes", "read_delay_us"};
static _Atomic long settings[kSettingCount];

static int is_control(const char* path) { return strcmp(path, "/control") == 0; }

static int GetAttributes(const char* path, struct stat* status, struct fuse_file_info* info) {
  (void)info;
  memset(status, 0, sizeof *status);
  if (strcmp(path, "/") == 0) {
    status->st_mode = S_IFDIR | 0755;
    status->st_nlink = 2;
    return 0;
  }
  if (strcmp(path, "/disk.img") == 0) return fstat(image_fd, status) == 0 ? 0 : -errno;
  if (!is_control(path)) return -ENOENT;
  status->st_mode = S_IFREG | 0600;
  status->st_nlink = 1;
  return 0;
}

static int ReadDirectory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t offset,
                         struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)path, (void)offset, (void)info, (void)flags;
  fill(buffer, "disk.img", NULL, 0, 0);
  fill(buffer, "control", NULL, 0, 0);
  return 0;
}

static int Open(const char* path, struct fuse_file_info* info) {
  (void)path, (void)info;
  return 0;
}

static int Read(const char* path, char* buffer, size_t size, off_t offset,
                struct fuse_file_info* info) {
  (void)info;
  if (is_control(path)) return 0;
  if (settings[kReadDelayUs] > 0) usleep(settings[kReadDelayUs]);
  const long end = offset + (long)size;
  if (offset < settings[kBadEnd] && end > settings[kBadBegin]) return -EIO;
  const ssize_t got = pread(image_fd, buffer, size, offset);
  if (got < 0) return -errno;
  long from = settings[kRottenBegin] > offset ? settings[kRottenBegin] : offset;
  for (; from < settings[kRottenEnd] && from < offset + got; ++from) buffer[from - offset] ^= 0xff;
  return got;
}

static int Write(const char* path, const char* buffer, size_t size, off_t offset,
                 struct fuse_file_info* info) {
  (void)info;
  if (is_control(path)) {
    char text[128] = {0}, name[64];
    long value;
    memcpy(text, buffer, size < sizeof text - 1 ? size : sizeof text - 1);
    if (sscanf(text, "%63[^=]=%ld", name, &value) != 2) return -EINVAL;
    for (int i = 0; i < kSettingCount; ++i) {
      if (strcmp(name, setting_names[i]) != 0) continue;
      settings[i] = value;
      return size;
    }
    return -EINVAL;
  }
  if (settings[kFailWrites]) return -EIO;
  const ssize_t put = pwrite(image_fd, buffer, size, offset);
  return put < 0 ? -errno : put;
}

static int Truncate(const char* path, off_t size, struct fuse_file_info* info) {
  (void)path, (void)size, (void)info;
  return 0;
}

static int Flush(const char* path, int data_only, struct fuse_file_info* info) {
  (void)path, (void)data_only, (void)info;
  return settings[kFailWrites] ? -EIO : 0;
}

static int Allocate(const char* path, int mode, off_t offset, off_t length,
                    struct fuse_file_info* info) {
  (void)path, (void)info;
  return fallocate(image_fd, mode, offset, length) == 0 ? 0 : -errno;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s [fuse options] IMAGE MOUNTPOINT\n", argv[0]);
    return 2;
  }
  image_fd = open(argv[argc - 2], O_RDWR);
  if (image_fd < 0) {
    perror(argv[argc - 2]);
    return 1;
  }
  argv[argc - 2] = argv[argc - 1];
  static const struct fuse_operations operations = {
      .getattr = GetAttributes, .readdir = ReadDirectory, .open = Open, .read = Read,
      .write = Write, .truncate = Truncate, .fsync = Flush, .fallocate = Allocate};
  return fuse_main(argc - 1, argv, &operations, NULL);
}
