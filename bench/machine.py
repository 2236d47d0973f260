"""The machine under the benchmark: loop volumes, memory caps, cold caches, starting a program."""

import contextlib
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# Arguments: cgroup.procs file or "", report file, command. Linux counts the memory of whoever
# forked a program as that program's, so a process as big as the benchmark must not fork it itself.
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


def discard(*paths):
    """Removes files and folders that may or may not exist."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def disk_usage(folder):
    """What the files below take on disk; an index preallocates, so not their lengths."""
    return sum(os.lstat(os.path.join(path, name)).st_blocks * 512
               for path, _, names in os.walk(folder) for name in names)


def drop_caches():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def description():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (f"Linux {platform.release()}, {os.cpu_count()} CPUs, {memory / GIB:.1f} GiB of memory, "
            + run("btrfs", "--version").partition("\n")[0])


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
        self._group.mkdir(exist_ok=True)  # an interrupt may have kept the last one from going
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


def launch(command, cap_bytes, timeout, output):
    """Runs a program to its end and says what it cost. stdout goes to `output`, stderr beside it.

    A program that is not done after `timeout` seconds is killed: exit code 124.
    """
    report, errors = output.with_suffix(".cost"), output.with_suffix(".err")
    discard(report)
    with MemoryCap(cap_bytes) as procs, open(output, "wb") as out, open(errors, "wb") as err:
        launcher = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, procs, report, *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            launcher.wait(timeout)
        except subprocess.TimeoutExpired:
            return {"wall_seconds": timeout, "cpu_seconds": None, "peak_rss_bytes": None,
                    "exit_code": 124}
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()
    wall, cpu, rss, exit_code = report.read_text().split()
    return {"wall_seconds": float(wall), "cpu_seconds": float(cpu),
            "peak_rss_bytes": int(rss) * KIB, "exit_code": int(exit_code)}
