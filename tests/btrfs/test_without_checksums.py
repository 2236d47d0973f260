#!/usr/bin/env python3
"""Holes, preallocated space, nodatacow and other data that has no checksums (yet)."""

import os

import case
import ioctls
from volume import KIB, MIB, command, pattern


class HoleTest(case.OnefoldTest):

    # Data, then a hole to the end: case 54.
    def test_sparse_twins(self):
        for end in (4 * MIB, 4 * MIB + 123):
            with self.subTest(end=end):
                volume = self.volume()
                for name in ("a", "b"):
                    volume.write(name, pattern(1, MIB))
                    volume.truncate(name, end)
                self.dedupe(volume, frees=MIB, shares=MIB, state=volume.folder + "/state")

    # Holes in front and between.
    def test_holes_between(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, b"")
            volume.truncate(name, 64 * MIB)
            for number in range(16):
                volume.overwrite(name, (4 * number + 1) * MIB, pattern(number, 100 * KIB))
        self.dedupe(volume, frees=16 * 100 * KIB)

    # A hole on one side, zeros on the other, and data around that is equal.
    def test_hole_against_zeros(self):
        volume = self.volume()
        volume.write("zeros", pattern(1, MIB) + bytes(MIB) + pattern(2, MIB), cuts=[MIB, 2 * MIB])
        volume.write("hole", pattern(1, MIB), sync=True)
        volume.truncate("hole", 2 * MIB)
        volume.overwrite("hole", 2 * MIB, pattern(2, MIB))
        self.dedupe(volume, frees=2 * MIB)

    # Holes are no data: cases 54, 55.
    def test_holes_only(self):
        volume = self.volume()
        for number in range(4):
            volume.write(f"f{number}", b"")
            volume.truncate(f"f{number}", 8 * 1024 * MIB)
        os.truncate(volume.write("unaligned", b""), 12345)
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertLess(run.seconds, 10 * case.SLOWNESS)
        self.assertEqual(run.totals["bytes_scanned"], 0)

    # Case 140: a huge sparse file costs what its data costs.
    def test_terabyte_file(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, b"")
            volume.truncate(name, 1024**4)
            volume.overwrite(name, 700 * 1024**3, pattern(1, MIB))
        run = self.dedupe(volume, frees=MIB)
        self.assertLess(run.seconds, 10 * case.SLOWNESS)


class PreallocatedTest(case.OnefoldTest):

    # A reservation is kept: cases 50, 62.
    def test_reservations_stay(self):
        volume = self.volume(size="1G")
        for name in ("a", "b"):
            volume.prealloc(name, 300 * MIB)
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertTrue(all(mapping.unwritten for mapping in volume.mappings("a")))
        self.assertTrue(run.totals["skipped"], "they are counted by reason")

    # Half written: left alone, the rest stays reserved.
    def test_partly_written(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.prealloc(name, 4 * MIB)
            volume.overwrite(name, 0, pattern(1, MIB))
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertEqual(sum(m.length for m in volume.mappings("b") if m.unwritten), 3 * MIB)
        self.assertTrue(run.totals["skipped"], run)

    # Written between two runs. That changes neither address nor generation of the extent.
    def test_written_later(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.prealloc(name, MIB)
        self.dedupe(volume, frees=0, requests=0)
        for name in ("a", "b"):
            volume.overwrite(name, 0, pattern(1, MIB))
        self.dedupe(volume, frees=MIB, shares=MIB)

    def test_written_later_in_two_steps(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.prealloc(name, MIB)
            volume.overwrite(name, 0, pattern(1, 512 * KIB))
        self.dedupe(volume, frees=0)
        volume.overwrite("a", 512 * KIB, pattern(2, 512 * KIB))
        self.dedupe(volume, frees=0)
        volume.overwrite("b", 512 * KIB, pattern(2, 512 * KIB))
        self.dedupe(volume, frees=MIB)

    # A preallocated file against one that was written plainly.
    def test_preallocated_and_plain(self):
        volume = self.volume()
        volume.prealloc("a", MIB)
        volume.overwrite("a", 0, pattern(1, MIB))
        volume.write("b", pattern(1, MIB))
        self.dedupe(volume, frees=MIB)


class NodatacowTest(case.OnefoldTest):

    # Counted, not reported one by one: case 53.
    def test_folder_of_nodatacow_files(self):
        volume = self.volume()
        ioctls.change_flags(volume.folder_at("journal"), add=ioctls.NOCOW_FLAG)
        for number in range(500):
            volume.write(f"journal/{number}", pattern(1, 8 * KIB))
        for name in ("a", "b"):
            volume.write(name, pattern(2, MIB))
        run = self.dedupe(volume, frees=MIB, requests=1)
        self.assertEqual(sum(run.totals["skipped"].values()), 500, run)
        self.assertLess(len(run.stderr.splitlines()), 12, run)

    # A nodatacow file against a normal one is never asked for: case 18.
    def test_nodatacow_and_normal(self):
        volume = self.volume()
        volume.write("a", pattern(1, 8 * MIB))
        volume.nodatacow("b", pattern(1, 8 * MIB))
        self.dedupe(volume, frees=0, requests=0)

    # Data without checksums that gets them with a new inode is found again.
    def test_rewritten_with_checksums(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.nodatacow(name, pattern(1, MIB))
        self.dedupe(volume, frees=0, requests=0)
        for name in ("a", "b"):
            os.rename(volume.write("new", pattern(1, MIB)), volume.path(name))
        self.dedupe(volume, frees=MIB)

    # Case 14: the swap file and its copy are skipped, the rest goes on.
    def test_active_swapfile(self):
        volume = self.volume()
        swap = volume.path("swap")
        command("btrfs", "filesystem", "mkswapfile", "-s", "16M", swap)
        volume.nodatacow("copy", volume.read("swap"))
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB))
        try:
            command("swapon", swap)
        except RuntimeError as refused:
            self.skipTest(f"swapon: {refused}")
        self.addCleanup(command, "swapoff", swap, check=False)
        self.dedupe(volume, frees=MIB, requests=1)

    # Mounted nodatasum: nothing can be told from checksums, and that is said.
    def test_whole_filesystem_without_checksums(self):
        volume = self.volume(mount="nodatasum")
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB))
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertEqual(sum(run.totals["skipped"].values()), 2, run)

    # A block that has no checksum any more next to one that has: both kinds in one file.
    def test_nodatasum_and_checksums_in_one_volume(self):
        volume = self.volume(mount="nodatasum")
        volume.write("old", pattern(1, MIB), sync=True)
        command("mount", "-o", "remount,datasum", volume.root)
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.dedupe(volume, frees=MIB, requests=1)
        self.assertEqual(len(volume.read("old")), MIB)
        self.assertEqual(volume.used_data(), 2 * MIB)


if __name__ == "__main__":
    case.main()
