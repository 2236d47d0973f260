#!/usr/bin/env python3
"""The page cache is left as it was found: a nightly run must not evict what the day needs."""

import ctypes
import mmap
import os

import case
from volume import BLOCK, KIB, MIB, command, pattern

LIBC = ctypes.CDLL(None, use_errno=True)


def resident_bytes(path):
    """How much of a file is in memory, asked with mincore(), which reads nothing."""
    size = os.path.getsize(path)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), size) as mapping:
        vector = (ctypes.c_ubyte * -(-size // BLOCK))()
        anchor = ctypes.c_char.from_buffer(mapping)
        answer = LIBC.mincore(ctypes.byref(anchor), ctypes.c_size_t(size), vector)
        del anchor
        if answer:
            raise OSError(ctypes.get_errno(), "mincore")
        return sum(entry & 1 for entry in vector) * BLOCK


class PageCacheTest(case.OnefoldTest):

    def volume_with_pairs(self, count=20):
        volume = self.volume()
        for number in range(count):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, MIB))
        volume.sync()
        return volume

    def resident(self, volume, name, count=20):
        return sum(resident_bytes(volume.path(f"{name}/{number}")) for number in range(count))

    # What was cold is cold again.
    def test_cold_files(self):
        volume = self.volume_with_pairs()
        command("sysctl", "-q", "vm.drop_caches=3")
        self.assertEqual(self.resident(volume, "a"), 0)
        run = self.onefold(volume.root)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, 20 * MIB), run)
        left = self.resident(volume, "a") + self.resident(volume, "b")
        self.assertLess(left, 2 * MIB, "of 40 MiB")

    # What was hot stays hot.
    def test_hot_files(self):
        volume = self.volume_with_pairs()
        command("sysctl", "-q", "vm.drop_caches=3")
        for name in ("a", "b"):
            for number in range(20):
                volume.read(f"{name}/{number}")
        self.assertEqual(self.resident(volume, "a"), 20 * MIB)
        run = self.onefold(volume.root)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, 20 * MIB), run)
        for name in ("a", "b"):
            self.assertGreater(self.resident(volume, name), 19 * MIB, name)

    # Half of a file was hot: that half stays.
    def test_partly_hot_files(self):
        volume = self.volume_with_pairs()
        command("sysctl", "-q", "vm.drop_caches=3")
        for number in range(20):
            fd = os.open(volume.path(f"a/{number}"), os.O_RDONLY | os.O_NOATIME)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(fd, 512 * KIB, 0)
            os.close(fd)
        hot = self.resident(volume, "a")
        run = self.onefold(volume.root)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, 20 * MIB), run)
        self.assertGreaterEqual(self.resident(volume, "a"), hot - MIB)
        self.assertLess(self.resident(volume, "b"), 2 * MIB)

    # A run over unique files reads none of them.
    def test_unique_files(self):
        volume = self.volume()
        for number in range(20):
            volume.write(f"a/{number}", pattern(number, MIB))
        volume.sync()
        command("sysctl", "-q", "vm.drop_caches=3")
        self.onefold(volume.root)
        self.assertEqual(self.resident(volume, "a"), 0)


if __name__ == "__main__":
    case.main()
