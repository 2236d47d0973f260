#!/usr/bin/env python3
"""A disk that fails: the bad place is named and left alone, the rest is done."""

import os

import case
from fault_disk import FaultDisk
from volume import BLOCK, KIB, MIB, command, pattern


class ReadErrorTest(case.OnefoldTest):

    def disk(self):
        disk = FaultDisk(self.folder)
        self._undo.append(disk.close)
        return disk

    def pairs(self, volume, count=10):
        for number in range(count):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 256 * KIB), sync=True)
        volume.sync()

    def place(self, disk, name):
        """Where the file lies on the disk. Its twin has the same content; the one with the lower
        address in the filesystem lies lower on the disk, too."""
        volume = disk.volume
        twins = [f"{folder}/{os.path.basename(name)}" for folder in ("a", "b")]
        places = disk.find_all(volume.read(name)[:BLOCK])
        self.assertEqual(len(places), len(twins), "each copy is on the disk once")
        twins.sort(key=lambda twin: volume.mappings(twin)[0].physical)
        return places[twins.index(name)]

    def forget(self):
        command("sysctl", "-q", "vm.drop_caches=3")

    # One file cannot be read: exit 2, it is named, its neighbours are folded (case 128).
    def test_unreadable_file(self):
        disk = self.disk()
        volume = disk.volume
        self.pairs(volume)
        at = self.place(disk, "b/3")
        used = volume.used_data()
        self.forget()
        disk.set(bad_begin=at + 64 * KIB, bad_end=at + 68 * KIB)
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 2, run)
        self.assertEqual([problem["path"] for problem in run.problems], [volume.path("b/3")], run)
        disk.set(bad_begin=0, bad_end=0)
        self.assertEqual(used - volume.used_data(), 9 * 256 * KIB, run)
        self.assertEqual(run.totals["bytes_freed"], 9 * 256 * KIB, run)
        for number in range(10):
            for name in ("a", "b"):
                self.assertEqual(volume.read(f"{name}/{number}"), pattern(number, 256 * KIB))

    # Each run names the file until it is mended; then what was left is done.
    def named_until_mended(self, name):
        disk = self.disk()
        volume = disk.volume
        self.pairs(volume, 2)
        at = self.place(disk, name)
        for frees in (256 * KIB, 0):
            self.forget()
            disk.set(bad_begin=at, bad_end=at + BLOCK)
            run = self.onefold(volume.root)
            disk.set(bad_begin=0, bad_end=0)
            self.assertEqual((run.code, run.totals["bytes_freed"]), (2, frees), run)
            self.assertEqual([problem["path"] for problem in run.problems], [volume.path(name)],
                             run)
            self.assertEqual(run.totals["bytes_pinned"], 0, run)
        self.dedupe(volume, frees=256 * KIB)
        self.dedupe(volume, frees=0, requests=0)

    # Of each pair one is read from and one is given up: either may be the bad one.
    def test_unreadable_first(self):
        self.named_until_mended("a/0")

    def test_unreadable_second(self):
        self.named_until_mended("b/0")

    # Bit rot: the checksum on disk is that of the healthy data, but the kernel does not compare
    # what fails it. The healthy copy stays as it is (case 3).
    def test_rotten_copy(self):
        disk = self.disk()
        volume = disk.volume
        self.pairs(volume, 5)
        at = self.place(disk, "b/2")
        self.forget()
        disk.set(rotten_begin=at + 8 * KIB, rotten_end=at + 8 * KIB + 16)
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 2, run)
        self.assertEqual(run.totals["bytes_freed"], 4 * 256 * KIB, run)
        self.assertEqual(volume.read("a/2"), pattern(2, 256 * KIB))
        disk.set(rotten_begin=0, rotten_end=0)
        self.assertEqual(volume.read("b/2"), pattern(2, 256 * KIB))

    # The filesystem turns read-only in the middle: the run ends by itself and says so.
    def test_disk_that_cannot_be_written(self):
        disk = self.disk()
        volume = disk.volume
        self.pairs(volume, 10)
        disk.set(fail_writes=1)
        run = self.onefold(volume.root)
        self.assertIn(run.code, (1, 2), run)
        self.assertTrue(run.stderr.strip() or run.problems, run)
        disk.set(fail_writes=0)
        volume.unmount()
        volume.mount()
        for number in range(10):
            for name in ("a", "b"):
                self.assertEqual(volume.read(f"{name}/{number}"), pattern(number, 256 * KIB))
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), 10 * 256 * KIB)

    # A slow disk (each read 5 ms): ranges are read ahead, so the run does not take a read a block
    # (case 148).
    def test_slow_disk(self):
        disk = self.disk()
        volume = disk.volume
        for name in ("a", "b"):
            volume.write(name, pattern(1, 8 * MIB), sync=True)
        self.forget()
        disk.set(read_delay_us=5000)
        run = self.onefold(volume.root)
        disk.set(read_delay_us=0)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, 8 * MIB), run)
        self.assertLess(run.seconds, 10 * case.SLOWNESS, "4096 single reads would take 20 s")


if __name__ == "__main__":
    case.main()
