"""What a deduper must never change, recorded before a run and compared after it."""

import dataclasses
import errno
import hashlib
import os
import stat

import ioctls


@dataclasses.dataclass(frozen=True)
class Entry:
    """Everything about one file that a backup program or a user could notice."""

    kind: str
    sha256: str
    size: int
    inode: int
    links: int
    mode: int
    owner: tuple
    mtime_ns: int
    ctime_ns: int
    atime_ns: int
    xattrs: tuple


def _walk(fd, prefix, visit):
    """Calls visit(path, dir_fd, name, stat) for everything below `fd`.

    Descends by file descriptor: paths may be longer than PATH_MAX. Opens with O_NOATIME. Goes into
    what is mounted below.
    """
    with os.scandir(fd) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        path = f"{prefix}/{name}" if prefix else name
        visit(path, fd, name, status)
        if stat.S_ISDIR(status.st_mode):
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOATIME, dir_fd=fd)
            try:
                _walk(below, path, visit)
            finally:
                os.close(below)


def _walk_files(root, visit):
    """Like _walk, for regular files: calls visit(path, open fd, stat)."""

    def on_entry(path, dir_fd, name, status):
        if stat.S_ISREG(status.st_mode):
            fd = os.open(name, os.O_RDONLY | os.O_NOATIME, dir_fd=dir_fd)
            try:
                visit(path, fd, status)
            finally:
                os.close(fd)

    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOATIME)
    try:
        _walk(fd, "", on_entry)
    finally:
        os.close(fd)


_CHUNK = 1 << 20


def _content_hash(fd, size):
    """sha256 over all chunks that are not zero, with their offsets. Skips holes: files may have a
    terabyte of them."""
    digest, offset = hashlib.sha256(), 0
    while offset < size:
        try:
            offset = max(offset, os.lseek(fd, offset, os.SEEK_DATA) // _CHUNK * _CHUNK)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break
            raise
        chunk = os.pread(fd, _CHUNK, offset)
        if chunk.strip(b"\0"):
            digest.update(offset.to_bytes(8, "little") + chunk)
        offset += _CHUNK
    return digest.hexdigest()


def _entry(dir_fd, name, status):
    content, xattrs = "", ()
    if stat.S_ISREG(status.st_mode):
        fd = os.open(name, os.O_RDONLY | os.O_NOATIME, dir_fd=dir_fd)
        with open(fd, "rb"):
            content = _content_hash(fd, status.st_size)
            xattrs = tuple((key, os.getxattr(fd, key)) for key in sorted(os.listxattr(fd)))
    return Entry(
        kind=stat.filemode(status.st_mode)[0], sha256=content, size=status.st_size,
        inode=status.st_ino, links=status.st_nlink, mode=status.st_mode,
        owner=(status.st_uid, status.st_gid), mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns, atime_ns=status.st_atime_ns, xattrs=xattrs)


def manifest(root, skip=()):
    """{path: Entry} of everything below `root`, without the relative paths in `skip`."""
    result = {}

    def visit(path, dir_fd, name, status):
        if not any(path == s or path.startswith(s + "/") for s in skip):
            result[path] = _entry(dir_fd, name, status)

    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOATIME)
    try:
        _walk(fd, "", visit)
    finally:
        os.close(fd)
    return result


def differences(before, after):
    """One line for each thing that changed between two manifests, for people."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after or path not in before:
            lines.append(f"{path!r}: {'gone' if path in before else 'new'}")
            continue
        for field in dataclasses.fields(Entry):
            old, new = getattr(before[path], field.name), getattr(after[path], field.name)
            if old != new:
                lines.append(f"{path!r}: {field.name} was {old!r}, is {new!r}")
    return lines


def layout(root):
    """{path: [(logical, physical, length)]} of all regular files below `root`."""
    result = {}

    def visit(path, fd, _):
        result[path] = [mapping.place for mapping in ioctls.fiemap(fd)]

    _walk_files(root, visit)
    return result


def extent_bytes(root):
    """On-disk bytes of all extents that files below `root` refer to, each once and whole."""
    extents = {}

    def visit(_, fd, __):
        for item in ioctls.file_extents(fd):
            if item.address:
                extents[item.address] = item.disk_bytes

    _walk_files(root, visit)
    return sum(extents.values())
