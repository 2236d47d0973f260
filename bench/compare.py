#!/usr/bin/env python3
"""Compares onefold with duperemove and with programs that share its command line.

Method. A data set is written once, with plain write() calls, to a btrfs with default options in an
image file, and a manifest is taken of it (content, mtime and mode of every file). Every tool then
gets a fresh copy of that image on a loop device with direct I/O and does, in this order:

  scan     no dedupe: the baselines hash everything, onefold makes a dry run
  dedupe   from nothing: what `scan` left behind is not used
  re-run   the same again, with the index of `dedupe`, after which nothing changed
  check    used data and `btrfs filesystem du`, and every file against the manifest

Before each of the first three the volume is mounted anew and all caches are dropped; each runs in
a memory cgroup of its own that also bounds the page cache. Tools take turns, and the one that
begins changes from round to round. Indexes lie outside the measured volume. Tables show medians.

Wall, CPU and peak RSS come from wait4() in a small interpreter that starts the tool: Linux counts
the memory of whoever forked as the child's, so this big process must not fork it itself. What a
table can show as RSS therefore starts at some 10 MiB.

Exit status 1: after onefold more data is in use than after a baseline, or a file changed, or
onefold failed. Slow is not a failure.
"""

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import signal
import stat
import statistics
import subprocess
import sys
import time

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BLOCK = 4096
SNAPSHOTS = 20
ONEFOLD_PLACES = ["build/release/cli/onefold", "build/cli/onefold", "build/onefold"]
DEFAULT_SOURCE = "/usr/src/linux-source-6.1.tar.xz"

# Arguments: cgroup.procs file or "", report file, command. Must stay small, see above.
LAUNCHER = """
import os, sys, time
procs, report, command = sys.argv[1], sys.argv[2], sys.argv[3:]
start = time.monotonic()
pid = os.fork()
if pid == 0:
    try:
        if procs:
            with open(procs, "w") as file:
                file.write("0")
        os.execvp(command[0], command)
    finally:
        os._exit(127)
_, status, usage = os.wait4(pid, 0)
wall = time.monotonic() - start
with open(report, "w") as file:
    print(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
          os.waitstatus_to_exitcode(status), file=file)
"""


class BenchError(Exception):
    """Something the caller has to put right."""


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, file=sys.stderr, flush=True)


def run(*command):
    """Output of a command that has to succeed."""
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def patiently(action, seconds=30):
    """Repeats what fails only while a killed process is still on its way out."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return action()
        except (OSError, subprocess.CalledProcessError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


# ---------------------------------------------------------------------------------- the machine


class Volume:
    """A btrfs image, mounted through a loop device with direct I/O while the `with` block runs."""

    def __init__(self, image, mount_point):
        self.image, self.path, self._device = image, mount_point, None

    def __enter__(self):
        try:
            self._device = run("losetup", "--find", "--show", "--direct-io=on", self.image).strip()
            if run("losetup", "--noheadings", "--output=DIO", self._device).strip() != "1":
                raise BenchError(f"no direct I/O on {self.image}: choose --work on another disk")
            run("mount", "-t", "btrfs", self._device, self.path)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Goes by what the system says, so it is right at whatever point an interrupt came."""
        if os.path.ismount(self.path):
            patiently(lambda: run("umount", self.path))
        if self.image.exists():
            for device in run("losetup", "--noheadings", "--output=NAME", "-j", self.image).split():
                patiently(lambda device=device: run("losetup", "--detach", device))

    def device_read_bytes(self):
        fields = pathlib.Path("/sys/block", pathlib.Path(self._device).name, "stat").read_text()
        return int(fields.split()[2]) * 512

    def used_data_bytes(self):
        run("btrfs", "filesystem", "sync", self.path)
        lines = run("btrfs", "filesystem", "usage", "-b", self.path).splitlines()
        data = [line for line in lines if line.startswith("Data") and "Used:" in line]
        return sum(int(line.split("Used:")[1].split()[0]) for line in data)

    def du_bytes(self):
        output = run("btrfs", "filesystem", "du", "-s", "--raw", self.path)
        return dict(zip(("total", "exclusive", "set_shared"),
                        map(int, output.splitlines()[-1].split()[:3])))


class MemoryCap:
    """A memory cgroup, version 1 or 2, whichever is mounted. Gives the file to join it by."""

    def __init__(self, limit_bytes):
        self._limit_bytes, self._group = limit_bytes, None

    def __enter__(self):
        if not self._limit_bytes:
            return ""
        root, limit_name = self._find()
        self._group = root / f"onefold-bench-{os.getpid()}"
        self._group.mkdir(exist_ok=True)
        (self._group / limit_name).write_text(str(self._limit_bytes))
        return str(self._group / "cgroup.procs")

    def __exit__(self, *_):
        if self._group:
            patiently(self._group.rmdir)

    @staticmethod
    def _find():
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        for _, path, kind, flags, *_ in mounts:
            if kind == "cgroup" and "memory" in flags.split(","):
                return pathlib.Path(path), "memory.limit_in_bytes"
        for _, path, kind, *_ in mounts:
            root = pathlib.Path(path)
            if kind == "cgroup2" and "memory" in (root / "cgroup.controllers").read_text().split():
                (root / "cgroup.subtree_control").write_text("+memory")
                return root, "memory.max"
        raise BenchError("no memory cgroup is mounted: use --memory-cap 0")


def drop_caches():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def disk_usage(folder):
    """What the files below take on disk; an index preallocates, so not their lengths."""
    return sum(os.lstat(os.path.join(path, name)).st_blocks * 512
               for path, _, names in os.walk(folder) for name in names)


# ------------------------------------------------------------------------------------ data sets


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
    with open(path, "rb", buffering=0) as source, open(copy, "xb", buffering=0) as target:
        while chunk := source.read(MIB):
            if salt:
                chunk, salt = (salt + chunk[len(salt):])[:len(chunk)], b""
            target.write(chunk)
        if pad:
            target.write(bytes(-info.st_size % BLOCK))
    os.chmod(copy, stat.S_IMODE(info.st_mode))
    os.utime(copy, ns=(time.time_ns(), info.st_mtime_ns))


# Every builder writes what is there once, yields, and then writes the duplicates.


def build_tree(root, source, options):
    write_tree(source, root / "copy1")
    yield
    for number in range(2, options.copies + 1):
        write_tree(source, root / f"copy{number}")


def build_tree10(root, source, options):
    """Ten different trees, each in all its copies."""
    salts = [bytes([ord("0") + number]) * 8 for number in range(10)]
    for number in range(1, options.copies + 1):
        for salt in salts:
            write_tree(source, root / f"tree{salt[:1].decode()}-copy{number}", salt=salt)
        if number == 1:
            yield


def build_nas(root, source, options):
    """The tree, and a copy of a tenth of its bytes: whole folders, taken all over the tree."""
    write_tree(source, root / "tree")
    yield
    seen = taken = 0
    folder, wanted = "", False

    def keep(path, info):
        nonlocal seen, taken, folder, wanted
        if os.path.dirname(path) != folder:
            folder, wanted = os.path.dirname(path), taken * 10 < seen
        seen += info.st_size
        taken += info.st_size * wanted
        return wanted

    write_tree(source, root / "tenth", keep)


def build_image(root, source, options):
    """An ext4 image of the tree, and every second of the files inside. All are whole blocks."""
    padded, image = options.work / "padded", options.work / "ext4.img"
    discard(padded, image)
    write_tree(source, padded, pad=True)
    infos = [info for _, info in entries(padded)]
    size = sum(info.st_size for info in infos if stat.S_ISREG(info.st_mode))
    run("truncate", f"--size={size + size // 8 + 256 * MIB}", image)
    run("mkfs.ext4", "-q", "-b", BLOCK, "-N", len(infos) + 1000, "-d", padded, image)
    run("cp", "--sparse=always", "--reflink=never", image, root / "disk.img")
    yield
    turns = iter(range(len(infos)))
    write_tree(padded, root / "half", lambda path, info: next(turns) % 2 == 0)
    discard(padded, image)


def build_single(root, source, options):
    """One tree: what `snapshots` is compared with."""
    run("btrfs", "subvolume", "create", root / "tree")
    write_tree(source, root / "tree" / "files")
    yield


def build_snapshots(root, source, options):
    yield from build_single(root, source, options)
    for number in range(SNAPSHOTS):
        run("btrfs", "subvolume", "snapshot", "-r", root / "tree", root / f"snapshot{number}")


# name: builder, scan only, how many times the source it takes on disk
DATA_SETS = {
    "tree": (build_tree, False, lambda options: options.copies),
    "tree10": (build_tree10, False, lambda options: 10 * options.copies),
    "nas": (build_nas, False, lambda options: 1.1),
    "image": (build_image, False, lambda options: 3.5),
    "single": (build_single, True, lambda options: 1),
    "snapshots": (build_snapshots, True, lambda options: 1),
}
DATA_SETS_DEFAULT = "tree,nas,image,snapshots"
COMPANIONS = {"snapshots": "single", "tree10": "tree"}  # what they are the bigger brother of


@dataclasses.dataclass
class DataSet:
    """A finished image, and what is in it."""
    name: str
    image: pathlib.Path
    scan_only: bool
    about: dict  # key, file_count, used_data_bytes, duplicate_bytes, manifest

    @classmethod
    def prepare(cls, name, source, options):
        """Builds the image; with --keep an earlier one of the same source does."""
        builder, scan_only, times = DATA_SETS[name]
        image = options.work / f"{name}.img"
        about_path = image.with_suffix(".json")
        key = [str(source), name, options.copies]
        if options.keep and image.exists() and about_path.exists():
            about = json.loads(about_path.read_text())
            if about["key"] == key:
                return cls(name, image, scan_only, about)
        discard(image, about_path)
        say(f"{name}: writing the data set")
        source_bytes = sum(info.st_blocks * 512 for _, info in entries(source))
        size = int(times(options) * source_bytes) + GIB
        if shutil.disk_usage(options.work).free < 2 * size:
            raise BenchError(f"{options.work} needs {2 * size // GIB} GiB of free space")
        run("truncate", f"--size={2 * size + 4 * GIB}", image)
        run("mkfs.btrfs", "--quiet", image)
        about = {"key": key} | cls._fill(builder, image, source, options, scan_only)
        about_path.write_text(json.dumps(about))
        return cls(name, image, scan_only, about)

    @staticmethod
    def _fill(builder, image, source, options, scan_only):
        with Volume(image, options.work / "mnt") as volume:
            unique_bytes = 0
            for _ in builder(volume.path, source, options):
                unique_bytes = volume.used_data_bytes()
            used = volume.used_data_bytes()
            files = manifest(volume.path, with_content=not scan_only)
        count = sum(stat.S_ISREG(mode) for mode, _, _ in files.values())
        return {"file_count": count, "used_data_bytes": used,
                "duplicate_bytes": used - unique_bytes, "manifest": files}


def manifest(root, with_content=True):
    """What a deduper must not change, by path."""
    def content(path, info):
        if stat.S_ISLNK(info.st_mode):
            return os.readlink(path)
        if not stat.S_ISREG(info.st_mode) or not with_content:
            return ""
        with open(path, "rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return {os.path.relpath(path, root): [info.st_mode, info.st_mtime_ns, content(path, info)]
            for path, info in entries(root)}


def discard(*paths):
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------ measuring


@dataclasses.dataclass
class Tool:
    name: str
    program: list  # the binary and further options
    is_onefold: bool = False

    def command(self, index, root, dedupe):
        binary, *more = self.program
        if self.is_onefold:
            mode = [] if dedupe else ["--dry-run"]
            return [binary, "dedupe", "--json", "--progress=none", "--state", index,
                    *mode, *more, root]
        mode = ["-d"] if dedupe else []
        return [binary, "-q", "-r", *mode, *more, f"--hashfile={index}/hashfile", root]

    def version(self):
        shown = subprocess.run([self.program[0], "--version"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        return shown.stdout.partition("\n")[0].strip()


class Bench:
    """Runs tools over data sets, in the folder --work, which holds nothing of value."""

    def __init__(self, options, tools):
        self._options, self._tools, self._work = options, tools, options.work
        self._run_image = self._work / "run.img"
        self.failures = []

    def measure(self, data_set):
        """All rounds: {tool name: [measurements of one round, …]}."""
        cap = int(data_set.about["used_data_bytes"] * self._options.memory_cap / 100)
        rounds = {tool.name: [] for tool in self._tools}
        for number in range(self._options.rounds):
            first = number % len(self._tools)
            for tool in self._tools[first:] + self._tools[:first]:
                say(f"{data_set.name}: round {number + 1}, {tool.name}")
                rounds[tool.name].append(self._round(tool, data_set, cap))
        self._compare_used_data(data_set, rounds)
        return rounds

    def _round(self, tool, data_set, cap):
        run("cp", "--sparse=always", "--reflink=auto", data_set.image, self._run_image)
        discard(self._work / "index")
        label = f"{data_set.name}-{tool.name}"
        scan_index, index = self._work / "index/scan", self._work / "index/dedupe"
        found = {"scan": self._timed(tool, scan_index, cap, f"{label}-scan", dedupe=False)}
        if not data_set.scan_only:
            found["dedupe"] = self._timed(tool, index, cap, f"{label}-dedupe", dedupe=True)
            found["index_bytes"] = disk_usage(index)
            found["rerun"] = self._timed(tool, index, cap, f"{label}-rerun", dedupe=True)
            found |= self._check(tool, data_set)
        discard(self._run_image)
        return found

    def _timed(self, tool, index, cap, label, dedupe):
        index.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._volume() as volume:
            command = [str(word) for word in tool.command(index, volume.path, dedupe)]
            output = self._work / "logs" / f"{label}.out"
            drop_caches()
            load, before = os.getloadavg()[0], volume.device_read_bytes()
            found = self._launch(command, cap, output)
            found |= {"device_read_bytes": volume.device_read_bytes() - before, "load": load}
        found["fingerprint_seconds"] = found["wall_seconds"]
        if tool.is_onefold:
            self._add_report(found, output, label)
        elif found["exit_code"]:
            say(f"  {label} ended with status {found['exit_code']}, see {output}")
        say(f"  {label}: {found['wall_seconds']:.2f} s")
        return found

    def _launch(self, command, cap, output):
        report, errors = self._work / "report", output.with_suffix(".err")
        discard(report)
        with MemoryCap(cap) as procs, open(output, "wb") as out, open(errors, "wb") as err:
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", LAUNCHER, procs, report, *command],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            try:
                launcher.wait(self._options.timeout)
            except subprocess.TimeoutExpired:
                return {"wall_seconds": self._options.timeout, "cpu_seconds": None,
                        "peak_rss_bytes": None, "exit_code": 124}
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(launcher.pid, signal.SIGKILL)
                launcher.wait()
        wall, cpu, rss, exit_code = report.read_text().split()
        return {"wall_seconds": float(wall), "cpu_seconds": float(cpu),
                "peak_rss_bytes": int(rss) * KIB, "exit_code": int(exit_code)}

    def _add_report(self, found, output, label):
        """onefold says itself how long its phases took."""
        try:
            report = json.loads(output.read_text())
            found["fingerprint_seconds"] = report["phases"]["scan_seconds"]
            found["report"] = report
        except (ValueError, KeyError, TypeError) as error:
            found["fingerprint_seconds"] = None
            self.failures.append(f"{label}: no usable --json output in {output}: {error!r}")
        if found["exit_code"]:
            self.failures.append(f"{label}: status {found['exit_code']}, see {output}")

    def _check(self, tool, data_set):
        with self._volume() as volume:
            used = volume.used_data_bytes()
            du = volume.du_bytes()
            before, after = data_set.about["manifest"], manifest(volume.path)
        changed = sorted(path for path in before.keys() | after.keys()
                         if before.get(path) != after.get(path))
        if changed:
            self.failures.append(f"{data_set.name}: {tool.name} changed {len(changed)} files, "
                                 f"such as {changed[0]!r}")
        return {"used_data_bytes": used, "du_bytes": du, "changed_count": len(changed),
                "freed_bytes": data_set.about["used_data_bytes"] - used}

    def _compare_used_data(self, data_set, rounds):
        ours = [tool.name for tool in self._tools if tool.is_onefold]
        if data_set.scan_only or not ours:
            return
        for name in rounds.keys() - ours:
            for number, (mine, theirs) in enumerate(zip(rounds[ours[0]], rounds[name]), 1):
                more = mine["used_data_bytes"] - theirs["used_data_bytes"]
                if more > 0:
                    self.failures.append(f"{data_set.name}, round {number}: onefold leaves {more} "
                                         f"bytes more in use than {name}")

    def _volume(self):
        return Volume(self._run_image, self._work / "mnt")

    def close(self):
        """Leaves no mount, loop device or copy behind."""
        for name in ["run", *DATA_SETS]:
            Volume(self._work / f"{name}.img", self._work / "mnt").close()
        kept = [] if self._options.keep else [*DATA_SETS, "source"]
        for name in kept:
            discard(self._work / f"{name}.img", self._work / f"{name}.json", self._work / name)
        discard(*(self._work / name for name in ("run.img", "index", "padded", "ext4.img")))


# --------------------------------------------------------------------------------------- report


def seconds(value):
    return f"{value:.2f} s"


def mebibytes(value):
    return f"{value / MIB:,.1f} MiB"


ROWS = [
    ("cold fingerprinting of everything ¹", "scan.fingerprint_seconds", seconds),
    ("cold scan, whole process", "scan.wall_seconds", seconds),
    ("… CPU", "scan.cpu_seconds", seconds),
    ("… read from the device", "scan.device_read_bytes", mebibytes),
    ("… peak RSS", "scan.peak_rss_bytes", mebibytes),
    ("cold run with dedupe", "dedupe.wall_seconds", seconds),
    ("… CPU", "dedupe.cpu_seconds", seconds),
    ("… read from the device", "dedupe.device_read_bytes", mebibytes),
    ("… peak RSS", "dedupe.peak_rss_bytes", mebibytes),
    ("re-run, nothing changed", "rerun.wall_seconds", seconds),
    ("… CPU", "rerun.cpu_seconds", seconds),
    ("… read from the device", "rerun.device_read_bytes", mebibytes),
    ("… peak RSS", "rerun.peak_rss_bytes", mebibytes),
    ("index on disk", "index_bytes", mebibytes),
    ("used data afterwards", "used_data_bytes", mebibytes),
    ("`btrfs filesystem du -s`: exclusive", "du_bytes.exclusive", mebibytes),
    ("… set shared", "du_bytes.set_shared", mebibytes),
]
FOOTNOTE = ("(n×): that many times onefold's value. ¹ onefold: phase `scan_seconds` of a dry run; "
            "the others: a whole run without `-d`.")


def median(rounds, key):
    """Of a dotted key; None where a round has no value."""
    values = []
    for found in rounds:
        for part in key.split("."):
            found = found.get(part) if found else None
        values.append(found)
    return None if None in values else statistics.median(values)


def cell(value, form, reference):
    if value is None:
        return "–"
    return form(value) + (f" ({value / reference:.3g}×)" if reference else "")


def table(data_set, rounds, tools, options):
    """One data set in Markdown."""
    about, count = data_set.about, options.rounds
    cap = about["used_data_bytes"] * options.memory_cap / 100
    lines = [f"### {data_set.name}", "",
             f"{about['file_count']:,} files, {mebibytes(about['used_data_bytes'])} of data, "
             f"{mebibytes(about['duplicate_bytes'])} of it written as duplicates; memory cap "
             f"{mebibytes(cap) if cap else 'none'}; {count} round{'s' * (count > 1)}.", "",
             "| |" + "".join(f" {tool.name} |" for tool in tools), "|---|" + "---:|" * len(tools)]
    ours = next((tool.name for tool in tools if tool.is_onefold), None)
    for label, key, form in ROWS:
        values = {tool.name: median(rounds[tool.name], key) for tool in tools}
        if set(values.values()) != {None}:
            cells = [cell(value, form, values.get(ours) if name != ours else None)
                     for name, value in values.items()]
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def growth(name, companion, results, tools):
    """How values grow from the smaller data set to its big brother."""
    rows = [row for row in ROWS if row[1] in ("scan.fingerprint_seconds", "scan.wall_seconds",
                                              "scan.peak_rss_bytes", "dedupe.peak_rss_bytes",
                                              "rerun.wall_seconds")]
    for tool in tools:
        for _, key, form in rows:
            small, big = (median(results[each][tool.name], key) for each in (companion, name))
            if small and big:
                yield (f"* {tool.name}, {key}: {form(small)} on {companion}, {form(big)} on "
                       f"{name} ({big / small:.2f}×)")


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"kernel": platform.release(), "cpus": os.cpu_count(), "memory_bytes": memory,
            "btrfs_progs": run("btrfs", "--version").split("\n")[0]}


# ----------------------------------------------------------------------------------------- main


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0],
                                     epilog="The method is described on top of this file.")
    parser.add_argument("--onefold", metavar="PATH", help="the binary, more options may follow it; "
                        f"`none` leaves it out (default: {ONEFOLD_PLACES[0]})")
    parser.add_argument("--baseline", metavar="NAME=PATH", action="append", default=[],
                        help="a program with duperemove's command line, more options may follow "
                        "it; may be repeated; `none` for none (default: duperemove from PATH)")
    parser.add_argument("--dataset", default=DATA_SETS_DEFAULT, metavar="NAME,…",
                        help=f"of {', '.join(DATA_SETS)} (default: %(default)s)")
    parser.add_argument("--source", type=pathlib.Path, default=DEFAULT_SOURCE,
                        help="folder or tar file to copy (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=2, help="of the tree (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: 3)")
    parser.add_argument("--memory-cap", type=float, default=40, metavar="PERCENT",
                        help="of the data; 0 for none (default: 40)")
    parser.add_argument("--timeout", type=float, default=7200, metavar="SECONDS",
                        help="for one command (default: 7200)")
    parser.add_argument("--work", type=pathlib.Path, default="/var/tmp/onefold-bench",
                        help="folder for images, not on btrfs (default: %(default)s)")
    parser.add_argument("--keep", action="store_true",
                        help="keep the data sets in --work and use those of an earlier run")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="raw results")
    return parser.parse_args()


def choose_tools(options):
    tools = []
    if options.onefold != "none":
        root = pathlib.Path(__file__).resolve().parent.parent
        places = [str(root / place) for place in ONEFOLD_PLACES] + ["onefold"]
        found = options.onefold or next(filter(shutil.which, places), places[0])
        tools.append(Tool("onefold", shlex.split(found), is_onefold=True))
    for baseline in options.baseline or ["duperemove=duperemove"]:
        name, _, program = baseline.partition("=")
        if name != "none":
            tools.append(Tool(name, shlex.split(program)))
    for tool in tools:
        if not tool.program or not shutil.which(tool.program[0]):
            raise BenchError(f"{tool.name}: no such program: {' '.join(tool.program)}")
        tool.program[0] = os.path.abspath(shutil.which(tool.program[0]))
    if not tools or len({tool.name for tool in tools}) < len(tools):
        raise BenchError("give at least one tool, and every tool a name of its own")
    return tools


def choose_data_sets(options):
    names = options.dataset.split(",")
    if unknown := set(names) - DATA_SETS.keys():
        raise BenchError(f"no such data set: {', '.join(sorted(unknown))}")
    return [name for name in DATA_SETS if name in names + [COMPANIONS.get(n) for n in names]]


def unpacked(options):
    """The folder to copy from."""
    source = options.source.resolve()
    if source.is_dir():
        return source
    if not source.exists():
        raise BenchError(f"{source} does not exist: install its package or give --source")
    target = options.work / "source"
    finished = target / source.name.partition(".tar")[0]
    if not (options.keep and finished.is_dir()):
        discard(target)
        target.mkdir()
        say(f"unpacking {source}")
        run("tar", "--extract", "--file", source, "--directory", target)
    return target


def benchmark(options):
    """Prints the tables. True if nothing failed."""
    names, tools = choose_data_sets(options), choose_tools(options)
    bench, results = Bench(options, tools), {}
    raw = {"machine": machine(), "results": results, "failures": bench.failures,
           "tools": {tool.name: [tool.version(), *tool.program] for tool in tools}}
    try:
        source = unpacked(options)
        print(f"{machine()}\n", *(f"* {tool.name}: {tool.version()}" for tool in tools), sep="\n")
        print(f"\n{FOOTNOTE}\n")
        for name in names:
            data_set = DataSet.prepare(name, source, options)
            results[name] = bench.measure(data_set)
            print(table(data_set, results[name], tools, options), flush=True)
            if COMPANIONS.get(name) in results:
                print(*growth(name, COMPANIONS[name], results, tools), "", sep="\n")
            if options.json:
                options.json.write_text(json.dumps(raw, indent=1))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        bench.close()
    for failure in bench.failures:
        print("FAILED:", failure, file=sys.stderr)
    return not bench.failures


def main():
    options = parse_options()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        if os.geteuid() != 0:
            raise BenchError("mounting needs root")
        options.work = options.work.resolve()
        for folder in ("mnt", "logs"):
            (options.work / folder).mkdir(parents=True, exist_ok=True)
        with open(options.work / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return 0 if benchmark(options) else 1
    except BlockingIOError:
        print(f"{options.work} is in use by another run", file=sys.stderr)
    except (BenchError, subprocess.CalledProcessError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
