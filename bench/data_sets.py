"""The data sets, written with plain write() calls into btrfs images, and what is known of them."""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import stat
import time

from machine import GIB, MIB, BenchError, Volume, discard, run, say

BLOCK = 4096
SNAPSHOT_COUNT = 20


def entries(root):
    """Paths below `root` with their lstat(), in an order that is the same on every machine."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in folders + sorted(names):
            path = os.path.join(folder, name)
            yield path, os.lstat(path)


def write_tree(source, target, keep=lambda path, info: True, salt=b"", pad=False):
    """Writes folders, symlinks and those files that `keep` wants. Hard links become files.

    `salt` replaces the first bytes of every file; `pad` adds zeros up to whole blocks.
    """
    os.makedirs(target)
    for path, info in entries(source):
        copy = os.path.join(target, os.path.relpath(path, source))
        if stat.S_ISDIR(info.st_mode):
            os.mkdir(copy)
        elif stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink(path), copy)
        elif stat.S_ISREG(info.st_mode) and keep(path, info):
            write_file(path, info, copy, salt, pad)


def write_file(path, info, copy, salt, pad):
    """Copies by read() and write(): nothing that could share storage."""
    with open(path, "rb", buffering=0) as source, open(copy, "xb") as target:
        while chunk := source.read(MIB):
            if salt:
                chunk, salt = (salt + chunk[len(salt):])[:len(chunk)], b""
            target.write(chunk)
        if pad:
            target.write(bytes(-info.st_size % BLOCK))
    os.chmod(copy, stat.S_IMODE(info.st_mode))
    os.utime(copy, ns=(time.time_ns(), info.st_mtime_ns))  # a fresh atime: no reader has to set it


def manifest(root):
    """What a deduper must not change: {path: [mode, mtime, sha256 or target of a symlink]}."""
    def content(path, info):
        if stat.S_ISLNK(info.st_mode):
            return os.readlink(path)
        if not stat.S_ISREG(info.st_mode):
            return ""
        with open(path, "rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    found = list(entries(root))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        contents = list(pool.map(lambda entry: content(*entry), found))
    return {os.path.relpath(path, root): [info.st_mode, info.st_mtime_ns, content]
            for (path, info), content in zip(found, contents)}


# Every builder writes what is there once, yields, and then writes the duplicates.


def build_tree(root, source, options):
    write_tree(source, root / "copy1")
    yield
    for number in range(2, options.copies + 1):
        write_tree(source, root / f"copy{number}")


def build_tree10(root, source, options):
    """Ten different trees, each in all its copies."""
    for copy in range(1, options.copies + 1):
        for tree in "0123456789":
            write_tree(source, root / f"copy{copy}" / f"tree{tree}", salt=8 * tree.encode())
        if copy == 1:
            yield


def build_nas(root, source, options):
    """The tree, and a copy of a tenth of its bytes: whole folders, taken from all over it."""
    write_tree(source, root / "tree")
    yield
    seen_bytes = taken_bytes = 0
    folder, wanted = "", False

    def keep(path, info):
        nonlocal seen_bytes, taken_bytes, folder, wanted
        if os.path.dirname(path) != folder:
            folder, wanted = os.path.dirname(path), taken_bytes * 10 < seen_bytes
        seen_bytes += info.st_size
        taken_bytes += info.st_size * wanted
        return wanted

    write_tree(source, root / "tenth", keep)


def build_image(root, source, options):
    """An ext4 image of the tree, and every second of the files inside. All are whole blocks."""
    padded, image = options.work / "padded", options.work / "ext4.img"
    discard(padded, image)
    write_tree(source, padded, pad=True)
    infos = [info for _, info in entries(padded)]
    size = sum(info.st_size for info in infos if stat.S_ISREG(info.st_mode))
    run("truncate", f"--size={size // MIB * 9 // 8 + 256}M", image)
    run("mkfs.ext4", "-q", "-b", BLOCK, "-N", len(infos) + 1000, "-d", padded, image)
    run("cp", "--sparse=always", "--reflink=never", image, root / "disk.img")
    yield
    numbers = iter(range(len(infos)))
    write_tree(padded, root / "half", lambda path, info: next(numbers) % 2 == 0)
    discard(padded, image)


def build_files(root, source, options):
    """An ext4 image of the tree, and files of it as they are, ending where they end: most files of
    more than one block, 27,396 of Linux 6.1."""
    image = options.work / "ext4.img"
    discard(image)
    sizes = [info.st_size for _, info in entries(source) if stat.S_ISREG(info.st_mode)]
    run("truncate", f"--size={sum(sizes) // MIB * 9 // 8 + 1536}M", image)
    run("mkfs.ext4", "-q", "-b", BLOCK, "-N", 2 * len(sizes) + 1000, "-d", source, image)
    run("cp", "--sparse=always", "--reflink=never", image, root / "disk.img")
    yield
    large = sum(size > BLOCK for size in sizes)
    wanted = min(large, 27396)
    seen = 0

    def keep(path, info):
        nonlocal seen
        if info.st_size <= BLOCK:
            return False
        seen += 1
        return seen * wanted // large > (seen - 1) * wanted // large  # spread evenly

    write_tree(source, root / "files", keep)
    discard(image)


def build_single(root, source, options):
    """One tree: what `snapshots` is compared with."""
    run("btrfs", "subvolume", "create", root / "tree")
    write_tree(source, root / "tree" / "files")
    yield


def build_snapshots(root, source, options):
    yield from build_single(root, source, options)
    for number in range(SNAPSHOT_COUNT):
        run("btrfs", "subvolume", "snapshot", "-r", root / "tree", root / f"snapshot{number}")


@dataclasses.dataclass
class Kind:
    """How to make a data set, and how many times the source's size that takes."""
    build: object
    times: object
    scan_only: bool = False
    smaller: str = ""  # the data set this one shows growth from


KINDS = {
    "tree": Kind(build_tree, lambda options: options.copies),
    "tree10": Kind(build_tree10, lambda options: 10 * options.copies, smaller="tree"),
    "nas": Kind(build_nas, lambda options: 1.1),
    "image": Kind(build_image, lambda options: 3.5),
    "files": Kind(build_files, lambda options: 3.5),
    "single": Kind(build_single, lambda options: 1, scan_only=True),
    "snapshots": Kind(build_snapshots, lambda options: 1, scan_only=True, smaller="single"),
}


@dataclasses.dataclass
class DataSet:
    """A finished image, and what is in it."""
    name: str
    image: pathlib.Path
    file_count: int
    used_data_bytes: int
    duplicate_bytes: int
    manifest: dict

    @property
    def scan_only(self):
        return KINDS[self.name].scan_only

    def memory_cap_bytes(self, options):
        """0 for none. Snapshots add files but no data, and memory in proportion to the data would
        be too little for programs that remember every file."""
        return 0 if self.scan_only else int(self.used_data_bytes * options.memory_cap / 100)


def prepare(name, source, options):
    """Builds a data set; with --keep, one that was built from the same source before will do."""
    image = options.work / f"{name}.img"
    about = image.with_suffix(".json")
    key = [str(source), options.copies]
    if options.keep and about.exists():
        stored = json.loads(about.read_text())
        if stored.pop("key") == key:
            return DataSet(name, image, **stored)
    discard(image, about)
    say(f"{name}: writing the data set")
    source_bytes = sum(info.st_blocks * 512 for _, info in entries(source))
    size = int(KINDS[name].times(options) * source_bytes) + GIB
    if shutil.disk_usage(options.work).free < 2 * size:
        raise BenchError(f"{options.work} needs {2 * size // GIB} GiB of free space")
    run("truncate", f"--size={2 * (size // MIB + 1024)}M", image)
    run("mkfs.btrfs", "--quiet", image)
    facts = fill(Volume(image, options.work / "mnt"), name, source, options)
    about.write_text(json.dumps({"key": key} | facts))
    return DataSet(name, image, **facts)


def fill(image_volume, name, source, options):
    with image_volume as volume:
        unique_bytes = 0
        for _ in KINDS[name].build(volume.path, source, options):
            unique_bytes = volume.used_data_bytes()
        used_bytes = volume.used_data_bytes()
        count = sum(len(names) for _, _, names in os.walk(volume.path))
    files = {}
    if not KINDS[name].scan_only:
        with image_volume as volume:  # mounted anew: the manifest shows what is on disk
            files = manifest(volume.path)
    return {"file_count": count, "used_data_bytes": used_bytes,
            "duplicate_bytes": used_bytes - unique_bytes, "manifest": files}
