#!/usr/bin/env python3
"""Without the filesystem's trees: ordinary users, containers' capabilities, and XFS.

Directories are walked and data is read, so what is shared is the same as for root on btrfs, and
what is freed is not known to the program. These tests know it: nobody else uses the volumes.
"""

import os
import shutil
import subprocess
import time
import unittest

import case
from manifest import differences, manifest
from test_page_cache import resident_bytes
from volume import KIB, MIB, command, pattern, text
from xfs_volume import XfsVolume, why_no_xfs

USER = 65534


class WalkTest(case.OnefoldTest):
    """What holds on any filesystem; see the classes below."""

    PREFIX = ()

    def new_volume(self):
        raise NotImplementedError

    def prepare(self, volume, name=""):
        """After files were written, before a run."""

    def program(self):
        """Where anybody may run it."""
        path = os.path.join(self.folder, "onefold")
        if not os.path.exists(path):
            os.chmod(self.folder, 0o755)
            shutil.copy(case.binary(), path)
            os.chmod(path, 0o755)
        return path

    def walk(self, volume, *options, paths=None, code=0, state=None):
        before = manifest(volume.root)
        arguments = [*self.PREFIX, self.program(), "dedupe", "--json", "--progress=none", "--state",
                     state or self.state, *options, *(paths or [volume.root])]
        since = time.monotonic()
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL)
        run = self.finish(process, since)
        self.assertEqual(run.code, code, run)
        if code != 1:
            self.check_report(run)
            self.assertTrue(all(part["walked"] for part in run.report["volumes"]), run)
        self.assertEqual([], differences(before, manifest(volume.root)), run)
        return run

    def fold(self, volume, *options, shares, frees=None, requests=None, **more):
        """A run, and another one that finds nothing to do."""
        used = volume.used_data()
        run = self.walk(volume, *options, **more)
        self.assertEqual(run.totals["bytes_shared"], shares, run)
        if requests is not None:
            self.assertEqual(run.totals["dedupe_requests"], requests, run)
        if run.totals["dedupe_requests"]:
            self.assertIsNone(run.totals["bytes_freed"], run)
        if frees is not None:
            self.assertEqual(used - volume.used_data(), frees, run)
        again = self.walk(volume, *options, **more)
        self.assertEqual(again.totals["dedupe_requests"], 0, again)
        self.assertEqual(again.totals["file_bytes_read"], 0, again)
        self.assertEqual(again.totals["extents_scanned"], 0, again)
        return run


class Core:
    """Mixed into the classes below."""

    def test_copies(self):
        volume = self.new_volume()
        for number in range(20):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 40 * KIB + number))
        for name in ("one", "two"):
            volume.write(name, pattern(99, 3 * MIB + 5), sync=True)
        self.prepare(volume)
        files = sum(40 * KIB + number for number in range(20)) + 3 * MIB + 5
        self.fold(volume, shares=files, frees=40 * KIB + 19 * 44 * KIB + 3 * MIB + 4 * KIB)
        self.assertTrue(volume.same_place("one", "two"))

    # Only what changed is read again.
    def test_changed_files(self):
        volume = self.new_volume()
        for number in range(10):
            volume.write(f"a{number}", pattern(number, MIB), sync=True)
        self.prepare(volume)
        self.fold(volume, shares=0, requests=0)
        volume.write("b3", pattern(3, MIB), sync=True)
        volume.overwrite("a5", 0, pattern(3, MIB))
        for name in ("a5", "b3"):
            self.prepare(volume, name)
        run = self.fold(volume, shares=2 * MIB, frees=2 * MIB)
        self.assertLessEqual(run.totals["file_bytes_read"], 2 * MIB + 4 * MIB, run)
        self.assertTrue(volume.same_place("a3", "b3", "a5"))

    def test_inside_a_larger_file(self):
        volume = self.new_volume()
        inside = pattern(1, 3 * MIB)
        volume.write("image", pattern(2, 64 * KIB) + inside + pattern(3, 64 * KIB), sync=True)
        volume.write("file", inside, sync=True)
        self.prepare(volume)
        self.fold(volume, shares=3 * MIB, frees=3 * MIB)

    def test_hostile_names(self):
        volume = self.new_volume()
        names = ["new\nline", "esc\x1b[31m", "-rf", " ", "\udcff\udcfe", "$(reboot)", "..a", "*"]
        for number, name in enumerate(names):
            for folder in ("x", "y\n"):
                volume.write(f"{folder}/{name}", pattern(number, 64 * KIB), sync=True)
        os.symlink("/etc", volume.path("etc"))
        os.symlink("x", volume.path("loop"))
        os.mkfifo(volume.path("fifo"))
        self.prepare(volume)
        size = len(names) * 64 * KIB
        self.fold(volume, shares=size, frees=size)

    # A snapshot, or a file elsewhere, holds what would be given up: left alone, and said.
    def test_held_outside(self):
        volume = self.new_volume()
        volume.write("in/a", pattern(1, MIB), sync=True)
        volume.write("in/b", pattern(1, MIB), sync=True)
        for name in ("a", "b"):
            volume.folder_at("out")
            volume.reflink(f"in/{name}", f"out/{name}")
        self.prepare(volume)
        run = self.fold(volume, paths=[volume.path("in")], shares=0, requests=0)
        self.assertEqual(run.totals["pinned_by"], {"outside_files": MIB}, run)
        # Once it is gone, that shows without any file of ours having changed.
        os.unlink(volume.path("out/b"))
        volume.sync()
        self.fold(volume, paths=[volume.path("in")], shares=MIB, frees=MIB)

    # A kill at any time costs time only.
    def test_kill(self):
        volume = self.new_volume()
        for number in range(60):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 512 * KIB))
        self.prepare(volume)
        volume.sync()
        before = manifest(volume.root)
        for delay in (0.02, 0.1, 0.2, 0.3, 0.4, 0.6):
            process = subprocess.Popen(
                [*self.PREFIX, self.program(), "dedupe", "--progress=none", "--state", self.state,
                 volume.root], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.kill()
            process.wait()
        self.walk(volume)
        self.assertEqual([], differences(before, manifest(volume.root)))
        for number in range(60):
            self.assertTrue(volume.same_place(f"a/{number}", f"b/{number}"), number)
        again = self.walk(volume)
        self.assertEqual(again.totals["dedupe_requests"], 0, again)


class More(Core):
    """What depends on the walk alone, so that one filesystem is enough."""

    def test_dry_run(self):
        volume = self.new_volume()
        for name in ("a", "b", "c"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.prepare(volume)
        used = volume.used_data()
        run = self.walk(volume, "--dry-run")
        self.assertIsNone(run.totals["bytes_freeable"], run)
        self.assertEqual(run.totals["bytes_shareable"], 2 * MIB, run)
        self.assertEqual(run.totals["dedupe_requests"], 0, run)
        self.assertEqual(volume.used_data(), used)
        self.assertFalse(volume.same_place("a", "b"))
        # What it read need not be read again, but for comparing.
        real = self.fold(volume, shares=2 * MIB, frees=2 * MIB)
        self.assertEqual(real.totals["file_bytes_read"], 3 * MIB, real)

    # What is shared already is neither read twice nor shared again.
    def test_reflinks(self):
        volume = self.new_volume()
        volume.write("a", pattern(1, MIB), sync=True)
        volume.reflink("a", "b")
        volume.write("c", pattern(1, MIB), sync=True)
        self.prepare(volume)
        run = self.fold(volume, shares=MIB, frees=MIB)
        self.assertLessEqual(run.totals["file_bytes_read"], 4 * MIB, run)
        self.assertTrue(volume.same_place("a", "b", "c"))

    def test_hard_links(self):
        volume = self.new_volume()
        volume.write("a", pattern(1, MIB), sync=True)
        volume.write("b", pattern(1, MIB), sync=True)
        for name in ("b", "a"):
            volume.link(name, f"{name}-link")
        self.prepare(volume)
        self.fold(volume, "--exclude", "b-link", shares=MIB, frees=MIB)

    def test_excludes_and_sizes(self):
        volume = self.new_volume()
        for name in ("a", "b", "c.iso", "skip/d", "small"):
            volume.write(name, pattern(1, 16 * KIB if name == "small" else MIB), sync=True)
        self.prepare(volume)
        self.fold(volume, "--exclude", "*.iso", "--exclude", "skip/", "--min-size", "32K",
                  shares=MIB, frees=MIB)
        self.assertFalse(volume.same_place("a", "c.iso") or volume.same_place("a", "skip/d"))

    # A file in the given path, and one outside of it that must stay alone.
    def test_given_paths(self):
        volume = self.new_volume()
        for name in ("in/a", "in/b", "out/c", "d"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.prepare(volume)
        self.fold(volume, paths=[volume.path("in"), volume.path("d")], shares=2 * MIB,
                  frees=2 * MIB)
        self.assertFalse(volume.same_place("d", "out/c"))

    def test_holes_and_preallocated(self):
        volume = self.new_volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, 2 * MIB), sync=True)
            volume.punch(name, 512 * KIB, 512 * KIB)
            volume.prealloc(f"{name}-empty", MIB)
        self.prepare(volume)
        volume.sync()
        self.fold(volume, shares=1536 * KIB, frees=1536 * KIB)

    # The catalogue is a cache, the index, too.
    def test_lost_and_damaged_state(self):
        volume = self.new_volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.prepare(volume)
        self.fold(volume, shares=MIB, frees=MIB)
        folder = os.path.join(self.state, "walk")
        (name,) = os.listdir(folder)
        path = os.path.join(folder, name)
        with open(path, "r+b") as file:
            file.seek(200)
            file.write(b"\xff" * 8)
        run = self.walk(volume)
        self.assertEqual(run.totals["dedupe_requests"], 0, run)
        self.assertEqual(run.totals["file_bytes_read"], MIB, run)
        shutil.rmtree(os.path.join(self.state, "index"))
        run = self.walk(volume)
        self.assertEqual(run.totals["dedupe_requests"], 0, run)
        self.assertEqual(run.totals["file_bytes_read"], 0, run)


class XfsTest(More, WalkTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why_no_xfs():
            raise unittest.SkipTest(why_no_xfs())

    def new_volume(self):
        volume = XfsVolume(self.folder)
        self._undo.append(volume.close)
        return volume

    # One extent of more than a piece, and more than one request.
    def test_large_extents(self):
        volume = self.new_volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, 40 * MIB), sync=True)
        self.fold(volume, shares=40 * MIB, frees=40 * MIB)

    # What was cold is cold again, after reading all of it as well as after comparing.
    def test_page_cache(self):
        volume = self.new_volume()
        names = [f"{folder}/{number}" for folder in ("a", "b") for number in range(20)]
        for name in names:
            volume.write(name, pattern(os.path.basename(name), MIB))
        volume.sync()
        command("sysctl", "-q", "vm.drop_caches=3")
        hot = names[:4]
        for name in hot:
            volume.read(name)
        run = self.onefold("--progress=none", volume.root)
        self.assertEqual(run.totals["bytes_shared"], 20 * MIB, run)
        for name in hot:
            self.assertEqual(resident_bytes(volume.path(name)), MIB, name)
        left = sum(resident_bytes(volume.path(name)) for name in names if name not in hot)
        self.assertLess(left, 2 * MIB, "of 36 MiB")

    def test_without_reflink(self):
        volume = XfsVolume(self.folder, mkfs=("-m", "reflink=0"))
        self._undo.append(volume.close)
        volume.write("a", pattern(1, MIB), sync=True)
        run = self.walk(volume, code=1)
        self.assertIn("reflink", run.problems[0]["detail"], run)


class UserTest(Core, WalkTest):
    """An ordinary user on files of its own, on btrfs."""

    PREFIX = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all")

    def new_volume(self):
        os.chmod(self.folder, 0o755)
        os.makedirs(self.state, 0o700, exist_ok=True)
        os.chown(self.state, USER, USER)
        volume = self.volume()
        os.chmod(os.path.dirname(volume.root), 0o755)
        return volume

    def prepare(self, volume, name=""):
        command("chown", "-hR", f"{USER}:{USER}", volume.path(name))
        volume.sync()

    # Files of others are named and left alone, the rest goes on.
    def test_files_of_others(self):
        volume = self.new_volume()
        for name in ("mine", "also", "theirs", "closed", "shut/x"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.prepare(volume)
        for name in ("theirs", "closed", "shut"):
            os.chown(volume.path(name), 0, 0)
        os.chmod(volume.path("closed"), 0o600)
        os.chmod(volume.path("shut"), 0o700)
        volume.sync()
        run = self.walk(volume, code=2)
        self.assertEqual(run.totals["bytes_shared"], MIB, run)
        self.assertTrue(volume.same_place("mine", "also"))
        self.assertFalse(volume.same_place("mine", "theirs"))
        named = {problem["path"]: problem["reason"] for problem in run.problems}
        self.assertEqual(named, {volume.path(name): "permission"
                                 for name in ("theirs", "closed", "shut")}, run)

    def test_compressed(self):
        volume = self.volume(mount="compress-force=zstd")
        os.chmod(os.path.dirname(volume.root), 0o755)
        self.new_volume()
        for name in ("a", "b"):
            volume.write(name, text(1, MIB), sync=True)
        volume.overwrite("b", 0, text(1, 4 * KIB))  # splits differently
        self.prepare(volume)
        run = self.walk(volume)
        self.assertGreaterEqual(run.totals["bytes_shared"], MIB - 128 * KIB, run)
        again = self.walk(volume)
        self.assertEqual(again.totals["dedupe_requests"], 0, again)

    # Subvolumes below are walked, too.
    def test_subvolumes(self):
        volume = self.new_volume()
        volume.subvolume("sub")
        for name in ("a", "sub/b", "sub/c/d"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.prepare(volume)
        self.fold(volume, shares=2 * MIB, frees=2 * MIB)


class ContainerTest(WalkTest):
    """What Docker gives to root in a container."""

    CAPABILITIES = ("+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,"
                    "+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap")
    PREFIX = ("setpriv", f"--bounding-set=-all,{CAPABILITIES}")

    def new_volume(self):
        return self.volume()

    def test_files_of_others(self):
        volume = self.new_volume()
        for number, name in enumerate(("a", "b", "c")):
            volume.write(name, pattern(1, MIB), sync=True)
            os.chown(volume.path(name), 1000 + number, 1000)
            os.chmod(volume.path(name), 0o600)
        self.fold(volume, shares=2 * MIB, frees=2 * MIB)



if __name__ == "__main__":
    case.main()
