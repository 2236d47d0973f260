"""A btrfs filesystem on a loop device, as a small language for tests.

    volume = Volume(folder, size="512M", mkfs=["--csum", "xxhash"], mount="compress=zstd")
    volume.write("a", pattern(1, MIB))
    volume.write("b", pattern(1, MIB), cuts=[64 * KIB])    # two extents
    volume.snapshot("", "snap")
    volume.used_data()

Names are relative to the mount point. Files are written by write(), never by cp, which would share
them. Mounted with strictatime, so that any read without O_NOATIME shows.
"""

import ctypes
import ctypes.util
import os
import random
import re
import subprocess
import tempfile

import ioctls

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
BLOCK = 4096

_LIBC = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
_KEEP_SIZE = 1
_PUNCH_HOLE = 2


def pattern(seed, size):
    """Incompressible bytes; equal for equal arguments, different for different seeds."""
    return random.Random(seed).randbytes(size)


def text(seed, size):
    """Bytes that compress about three to one."""
    numbers = random.Random(seed)
    words = [numbers.randbytes(10).hex().encode() for _ in range(40)]
    line = b" ".join(numbers.choice(words) for _ in range(size // 21 + 1))
    return line[:size]


def command(*arguments, check=True, **options):
    """Runs a program; returns its standard output. Raises with its error output."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, errors="surrogateescape", **options)
    if check and done.returncode:
        raise RuntimeError(f"{arguments}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def fallocate(fd, mode, offset, length):
    if _LIBC.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class Volume:
    """One filesystem. Close it, or keep it to look at what went wrong."""

    def __init__(self, folder, size="512M", mkfs=(), mount="", image=None):
        self.folder = tempfile.mkdtemp(prefix="volume-", dir=folder)
        self.image = image or os.path.join(self.folder, "disk.img")
        self.root = os.path.join(self.folder, "mnt")
        self.options = "strictatime" + ("," + mount if mount else "")
        self.loop = None
        os.mkdir(self.root)
        if not image:
            command("truncate", "-s", size, self.image)
            self.make(mkfs)
        self.mount()

    def make(self, mkfs):
        command("mkfs.btrfs", "-q", *mkfs, self.image)

    def mount(self, options=None):
        if not self.loop:
            self.loop = command("losetup", "--find", "--show", "--direct-io=on",
                                self.image).strip()
        command("mount", "-t", "btrfs", "-o", options or self.options, self.loop, self.root)

    def unmount(self):
        if os.path.ismount(self.root):
            command("umount", "-R", self.root)
        if self.loop:
            command("losetup", "-d", self.loop)
            command("btrfs", "device", "scan", "--forget", check=False)
            self.loop = None

    def close(self):
        if os.path.ismount(self.root):
            command("umount", "-R", self.root, check=False)
        if os.path.ismount(self.root):  # a test left a process in it
            command("umount", "-R", "-l", self.root, check=False)
        if self.loop:
            command("losetup", "-d", self.loop, check=False)
            self.loop = None
        command("rm", "-rf", "--one-file-system", self.folder, check=False)

    def uuid(self):
        return command("findmnt", "-no", "UUID", self.root).strip()

    # Files.

    def path(self, name=""):
        return os.path.join(self.root, name) if name else self.root

    def folder_at(self, name):
        os.makedirs(self.path(name), exist_ok=True)
        return self.path(name)

    def write(self, name, data, cuts=(), sync=False):
        """Writes a new file; `cuts` are offsets at which what came before is flushed, which starts
        a new extent."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            begin = 0
            for end in [*cuts, len(data)]:
                self._write_all(fd, data[begin:end])
                if cuts or sync:
                    os.fsync(fd)
                begin = end
        finally:
            os.close(fd)
        return self.path(name)

    def overwrite(self, name, offset, data, sync=True):
        fd = os.open(self.path(name), os.O_WRONLY)
        try:
            os.lseek(fd, offset, os.SEEK_SET)
            self._write_all(fd, data)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def append(self, name, data):
        self.overwrite(name, os.path.getsize(self.path(name)), data)

    @staticmethod
    def _write_all(fd, data):
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view[:MIB]):]

    def read(self, name):
        fd = os.open(self.path(name), os.O_RDONLY | os.O_NOATIME)
        with open(fd, "rb") as file:
            return file.read()

    def reflink(self, source, target):
        ioctls.reflink(self.path(source), self.path(target))

    def link(self, source, target):
        os.link(self.path(source), self.path(target))

    def truncate(self, name, size):
        os.truncate(self.path(name), size)

    def punch(self, name, offset, length):
        fd = os.open(self.path(name), os.O_WRONLY)
        try:
            fallocate(fd, _PUNCH_HOLE | _KEEP_SIZE, offset, length)
        finally:
            os.close(fd)

    def prealloc(self, name, length):
        fd = os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            fallocate(fd, 0, 0, length)
        finally:
            os.close(fd)

    def nodatacow(self, name, data):
        """A file without checksums: the flag must be set while it is empty."""
        self.write(name, b"")
        ioctls.change_flags(self.path(name), add=ioctls.NOCOW_FLAG)
        self.write_into(name, data)

    def write_into(self, name, data):
        """Fills an empty file that has to keep its flags."""
        self.overwrite(name, 0, data)

    def immutable(self, name, on=True):
        flag = ioctls.IMMUTABLE_FLAG
        ioctls.change_flags(self.path(name), add=flag if on else 0, remove=0 if on else flag)

    # Subvolumes.

    def subvolume(self, name):
        command("btrfs", "subvolume", "create", self.path(name))
        return self.path(name)

    def snapshot(self, source, target, readonly=True):
        flag = ["-r"] if readonly else []
        command("btrfs", "subvolume", "snapshot", *flag, self.path(source), self.path(target))
        return self.path(target)

    def delete_subvolume(self, name):
        """Deletes it and waits until its space is free."""
        command("btrfs", "subvolume", "delete", "-c", self.path(name))
        command("btrfs", "subvolume", "sync", self.root)

    def is_readonly(self, name):
        return "ro=true" in command("btrfs", "property", "get", self.path(name), "ro")

    def transid(self, name=""):
        """Transaction in which anything in the subvolume last changed."""
        out = command("btrfs", "subvolume", "find-new", self.path(name), str(2**62))
        return int(out.rsplit(maxsplit=1)[-1])

    # The filesystem's own account.

    def sync(self):
        command("btrfs", "filesystem", "sync", self.root)

    def usage(self):
        """[(kind, profile, used bytes)] after everything was committed."""
        self.sync()
        out = command("btrfs", "filesystem", "usage", "-b", self.root)
        found = re.findall(r"^(\w+),(\w+): Size:\d+, Used:(\d+)", out, re.MULTILINE)
        return [(kind, profile, int(used)) for kind, profile, used in found]

    def used_data(self):
        return sum(used for kind, _, used in self.usage() if kind == "Data")

    def used_metadata(self):
        """As it lies on the disk: two copies of a DUP profile count twice."""
        return sum(used * (2 if profile in ("DUP", "RAID1") else 1)
                   for kind, profile, used in self.usage() if kind == "Metadata")

    def mappings(self, name):
        fd = os.open(self.path(name), os.O_RDONLY | os.O_NOATIME)
        try:
            return ioctls.fiemap(fd)
        finally:
            os.close(fd)

    def extents(self, name):
        fd = os.open(self.path(name), os.O_RDONLY | os.O_NOATIME)
        try:
            return [item for item in ioctls.file_extents(fd) if item.address]
        finally:
            os.close(fd)

    def places(self, name):
        return [mapping.place for mapping in self.mappings(name)]

    def same_place(self, first, *others):
        """Whether all files lie on the same disk blocks, byte for byte."""
        return all(self._blocks(first) == self._blocks(other) for other in others)

    def _blocks(self, name):
        """[(file offset, disk address)] per block: independent of how records are cut."""
        return [(at, mapping.physical + at - mapping.logical) for mapping in self.mappings(name)
                for at in range(mapping.logical, mapping.logical + mapping.length, BLOCK)]
