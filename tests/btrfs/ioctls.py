"""The few Linux ioctls the tests need to ask the kernel themselves, without any tool in between."""

import array
import dataclasses
import fcntl
import os
import struct

FS_IOC_FIEMAP = 0xC020660B
FS_IOC_GETFLAGS = 0x80086601
FS_IOC_SETFLAGS = 0x40086602
FICLONE = 0x40049409
FIDEDUPERANGE = 0xC0189436
FIDEDUPERANGE_DIFFERS = 1
BTRFS_IOC_TREE_SEARCH_V2 = 0xC0709411

IMMUTABLE_FLAG = 0x00000010
APPEND_FLAG = 0x00000020
NOCOW_FLAG = 0x00800000

_FIEMAP_SYNC = 0x1
_FIEMAP_HEADER = struct.Struct("=QQIIII")
_FIEMAP_EXTENT = struct.Struct("=QQQQQIIII")
_SEARCH_KEY = struct.Struct("=QQQQQQQIIIIQQQQ")
_SEARCH_HEADER = struct.Struct("=QQQII")
_SEARCH_SIZE = _SEARCH_KEY.size + 8
_FILE_EXTENT = struct.Struct("<QQBBHBQQQQ")
_EXTENT_DATA_KEY = 108
_DEDUPE_HEADER = struct.Struct("=QQHHI")
_DEDUPE_TARGET = struct.Struct("=qQQiI")


@dataclasses.dataclass(frozen=True)
class Mapping:
    """One FIEMAP record. `length` counts file bytes; of a compressed extent that is more than it
    occupies on disk."""

    logical: int
    physical: int
    length: int
    flags: int

    LAST, DELALLOC, ENCODED, INLINE = 0x1, 0x4, 0x8, 0x200
    UNWRITTEN, SHARED = 0x800, 0x2000

    @property
    def shared(self):
        return bool(self.flags & self.SHARED)

    @property
    def inline(self):
        return bool(self.flags & self.INLINE)

    @property
    def unwritten(self):
        return bool(self.flags & self.UNWRITTEN)

    @property
    def place(self):
        """What dedupe changes: where each file byte lies, without the flags."""
        return self.logical, self.physical, self.length


def fiemap(fd, batch=512):
    """All mappings of an open file, after flushing it."""
    result, start = [], 0
    while True:
        buffer = array.array("B", bytes(_FIEMAP_HEADER.size + batch * _FIEMAP_EXTENT.size))
        _FIEMAP_HEADER.pack_into(buffer, 0, start, 2**64 - 1 - start, _FIEMAP_SYNC, 0, batch, 0)
        fcntl.ioctl(fd, FS_IOC_FIEMAP, buffer)
        mapped = _FIEMAP_HEADER.unpack_from(buffer)[3]
        for index in range(mapped):
            at = _FIEMAP_HEADER.size + index * _FIEMAP_EXTENT.size
            logical, physical, length, _, _, flags, *_ = _FIEMAP_EXTENT.unpack_from(buffer, at)
            result.append(Mapping(logical, physical, length, flags))
        if not mapped or result[-1].flags & Mapping.LAST:
            return result
        start = result[-1].logical + result[-1].length


@dataclasses.dataclass(frozen=True)
class FileExtent:
    """One EXTENT_DATA item: which part of which extent lies at a place of a file."""

    logical: int
    length: int
    address: int  # 0: a hole
    disk_bytes: int
    offset: int
    compression: int
    preallocated: bool


def file_extents(fd):
    """The items of an open file, inline data left out. FIEMAP joins neighbours, this does not."""
    os.fsync(fd)
    inode, result, start = os.fstat(fd).st_ino, [], 0
    while True:
        buffer = array.array("B", bytes(_SEARCH_SIZE + 65536))
        top = 2**64 - 1
        _SEARCH_KEY.pack_into(buffer, 0, 0, inode, inode, start, top, 0, top, _EXTENT_DATA_KEY,
                              _EXTENT_DATA_KEY, 2**32 - 1, 0, 0, 0, 0, 0)
        struct.pack_into("=Q", buffer, _SEARCH_KEY.size, 65536)
        fcntl.ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, buffer)
        found = _SEARCH_KEY.unpack_from(buffer)[9]
        at = _SEARCH_SIZE
        for _ in range(found):
            _, _, logical, _, size = _SEARCH_HEADER.unpack_from(buffer, at)
            at += _SEARCH_HEADER.size
            if size >= _FILE_EXTENT.size:
                (_, _, compression, _, _, kind, address, disk_bytes, offset,
                 length) = _FILE_EXTENT.unpack_from(buffer, at)
                if kind != 0:
                    result.append(FileExtent(logical, length, address, disk_bytes, offset,
                                             compression, kind == 2))
            start = logical + 1
            at += size
        if not found:
            return result


def change_flags(path, add=0, remove=0):
    """What chattr does."""
    fd = os.open(path, os.O_RDONLY)
    try:
        flags = array.array("I", [0])
        fcntl.ioctl(fd, FS_IOC_GETFLAGS, flags)
        flags[0] = flags[0] & ~remove | add
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, flags)
    finally:
        os.close(fd)


def reflink(source, target):
    """Makes the new file `target` share all of `source`."""
    with open(source, "rb") as read, open(target, "xb") as write:
        fcntl.ioctl(write.fileno(), FICLONE, read.fileno())


def dedupe_ranges(source, offset, length, targets):
    """One FIDEDUPERANGE call, everything opened read-only.

    `targets` is [(path, offset)]; returns [(status, bytes)]: status 0, -errno or
    FIDEDUPERANGE_DIFFERS for each of them. Raises OSError when the call itself fails.
    """
    fds = [os.open(path, os.O_RDONLY) for path, _ in targets]
    source_fd = os.open(source, os.O_RDONLY)
    try:
        buffer = array.array("B", bytes(_DEDUPE_HEADER.size + len(fds) * _DEDUPE_TARGET.size))
        _DEDUPE_HEADER.pack_into(buffer, 0, offset, length, len(fds), 0, 0)
        for index, (fd, (_, target_offset)) in enumerate(zip(fds, targets)):
            at = _DEDUPE_HEADER.size + index * _DEDUPE_TARGET.size
            _DEDUPE_TARGET.pack_into(buffer, at, fd, target_offset, 0, 0, 0)
        fcntl.ioctl(source_fd, FIDEDUPERANGE, buffer)
        answers = []
        for index in range(len(fds)):
            at = _DEDUPE_HEADER.size + index * _DEDUPE_TARGET.size
            _, _, done, status, _ = _DEDUPE_TARGET.unpack_from(buffer, at)
            answers.append((status, done))
        return answers
    finally:
        for fd in fds + [source_fd]:
            os.close(fd)
