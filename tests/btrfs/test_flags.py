#!/usr/bin/env python3
"""Files the kernel protects: immutable, append-only, running, in use."""

import fcntl
import mmap
import os
import subprocess
import time

import case
import ioctls
from volume import MIB, pattern


class FlagTest(case.OnefoldTest):

    def files(self, volume, *names, size=MIB):
        for name in names:
            volume.write(name, pattern(1, size), sync=True)

    def protect(self, volume, name, flag=ioctls.IMMUTABLE_FLAG):
        ioctls.change_flags(volume.path(name), add=flag)
        self.addCleanup(ioctls.change_flags, volume.path(name), 0, flag)

    # The protected one becomes the source, whichever came first: case 13.
    def test_one_immutable(self):
        for name in ("a", "b"):
            with self.subTest(name):
                volume = self.volume()
                self.files(volume, "a", "b")
                self.protect(volume, name)
                places = volume.places(name)
                self.dedupe(volume, frees=MIB, shares=MIB, pins=0, state=volume.folder + "/state")
                self.assertEqual(volume.places(name), places)

    # Two of them: left alone, with the reason, and the rest is done.
    def test_two_immutable(self):
        volume = self.volume()
        self.files(volume, "a", "b", "c")
        self.protect(volume, "a")
        self.protect(volume, "b")
        run = self.dedupe(volume, frees=MIB, shares=MIB, pins=MIB)
        self.assertEqual(run.totals["pinned_by"], {"immutable": MIB}, run)

    # Made changeable again: the next run does what was left.
    def test_no_longer_immutable(self):
        volume = self.volume()
        self.files(volume, "a", "b")
        for name in ("a", "b"):
            volume.immutable(name)
        run = self.dedupe(volume, frees=0, shares=0, pins=MIB)
        self.assertIn("immutable", run.reasons)
        for name in ("a", "b"):
            volume.immutable(name, False)
        self.dedupe(volume, "--full", frees=MIB)

    def test_append_only(self):
        volume = self.volume()
        self.files(volume, "a", "b")
        self.protect(volume, "a", ioctls.APPEND_FLAG)
        self.dedupe(volume, frees=MIB)

    # One reference of the extent that would be dropped is immutable: the other extent goes.
    def test_reflink_of_one_is_immutable(self):
        volume = self.volume()
        self.files(volume, "a", "b")
        volume.reflink("a", "copy")
        self.protect(volume, "copy")
        self.dedupe(volume, frees=MIB, shares=MIB)

    # The flag goes, and the next run finds that out by itself.
    def test_immutable_no_more(self):
        volume = self.volume()
        self.files(volume, "a", "b")
        for name in ("a", "b"):
            self.protect(volume, name)
        run = self.dedupe(volume)
        self.assertEqual(run.totals["pinned_by"], {"immutable": MIB}, run)
        for name in ("a", "b"):
            ioctls.change_flags(volume.path(name), 0, ioctls.IMMUTABLE_FLAG)
        self.dedupe(volume, frees=MIB)

    def wait_until_asleep(self, process):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with open(f"/proc/{process.pid}/wchan", encoding="ascii") as place:
                if "nanosleep" in place.read():
                    return
            time.sleep(0.02)
        self.fail("the program does not come to sleep")

    # Programs that run can be folded: cases 15 and 17.
    def test_running_program(self):
        volume = self.volume()
        with open("/bin/sleep", "rb") as file:
            program = file.read()
        for name in ("a", "b", "c"):
            os.chmod(volume.write(name, program, sync=True), 0o755)
        one = volume.used_data() // 3
        for name in ("a", "b"):
            running = subprocess.Popen([volume.path(name), "60"])
            self.addCleanup(running.wait)
            self.addCleanup(running.kill)
            self.wait_until_asleep(running)  # loading it changes its access time
        self.dedupe(volume, frees=2 * one)

    # Open for writing, mapped, locked: none of it is in the way (case 115).
    def test_files_in_use(self):
        volume = self.volume()
        self.files(volume, "a", "b", "c", "d")
        files = [open(volume.path(name), "r+b") for name in ("a", "b", "c")]
        for file in files:
            self.addCleanup(file.close)
        mapped = mmap.mmap(files[0].fileno(), MIB)
        self.addCleanup(mapped.close)
        fcntl.flock(files[1], fcntl.LOCK_EX)
        self.dedupe(volume, frees=3 * MIB)
        self.assertEqual(bytes(mapped), pattern(1, MIB))

    # A mapping that is written after the run must not reach the other file.
    def test_write_through_a_mapping_afterwards(self):
        volume = self.volume()
        self.files(volume, "a", "b")
        with open(volume.path("a"), "r+b") as file, mmap.mmap(file.fileno(), MIB) as mapped:
            self.dedupe(volume, frees=MIB)
            mapped[:5] = b"hello"
            mapped.flush()
        self.assertEqual(volume.read("b"), pattern(1, MIB))
        self.assertEqual(volume.read("a")[:5], b"hello")


if __name__ == "__main__":
    case.main()
