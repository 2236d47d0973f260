#!/usr/bin/env python3
"""Groups of many files, hard links and reflinks."""

import os

import case
from volume import BLOCK, KIB, MIB, command, pattern


class GroupTest(case.OnefoldTest):

    def copies(self, volume, count, size):
        for number in range(count):
            volume.write(f"{number % 10}/{number}", pattern(1, size))

    # More destinations than one call takes: case 25.
    def test_more_destinations_than_one_call_takes(self):
        volume = self.volume()
        self.copies(volume, 129, 64 * KIB)
        self.dedupe(volume, frees=8_388_608, shares=8_388_608, requests=128)

    # Open files are bounded: cases 30, 64 of duperemove's list.
    def test_thousand_copies_with_few_descriptors(self):
        volume = self.volume()
        self.copies(volume, 1000, 8 * KIB)
        self.dedupe(volume, frees=999 * 8 * KIB, prefix=["prlimit", "--nofile=256:256"])

    # A group that comes in pages of the plan still keeps one copy.
    def test_group_larger_than_a_page_of_the_plan(self):
        volume = self.volume()
        self.copies(volume, 2500, BLOCK)
        self.dedupe(volume, frees=2499 * BLOCK)

    # As big a group of extents that lie inside another file.
    def test_many_extents_inside_one_file(self):
        volume = self.volume()
        pieces = [pattern(seed, 8 * KIB) for seed in range(300)]
        volume.write("image", pattern(999, 4 * KIB) + b"".join(pieces), sync=True)
        for copy in range(4):
            for number, piece in enumerate(pieces):
                volume.write(f"{copy}/{number}", piece)
        self.dedupe(volume, frees=1200 * 8 * KIB)

    # One thread and many give the same result.
    def test_threads(self):
        for threads in (1, 8):
            with self.subTest(threads=threads):
                volume = self.volume()
                self.copies(volume, 200, 16 * KIB)
                self.dedupe(volume, f"--threads={threads}", frees=199 * 16 * KIB,
                            state=volume.folder + "/state")

    # The choice of what stays is the same from run to run.
    def test_the_kept_copy_stays(self):
        volume = self.volume()
        self.copies(volume, 5, MIB)
        self.dedupe(volume, frees=4 * MIB)
        places = volume.places("0/0")
        for number in range(3):
            volume.write(f"new{number}", pattern(1, MIB))
            self.dedupe(volume, frees=MIB)
            self.assertEqual(volume.places("0/0"), places)


class LinkTest(case.OnefoldTest):

    # Links of one inode are never given to the kernel against each other: cases 34, 44, 90, 91.
    def test_hard_links_only(self):
        volume = self.volume()
        volume.write("a", pattern(1, MIB))
        for number in range(100):
            volume.link("a", f"link{number}")
        self.dedupe(volume, frees=0, shares=0, pins=0, requests=0)

    def test_three_inodes_with_twelve_links(self):
        volume = self.volume()
        for name in ("a", "b", "c"):
            volume.write(name, pattern(1, MIB))
            for number in range(3):
                volume.link(name, f"{name}{number}")
        self.dedupe(volume, frees=2 * MIB, shares=2 * MIB, requests=2)

    # Shared already: no request, no data read (case 83).
    def test_reflinks_only(self):
        volume = self.volume()
        volume.write("a", pattern(1, 8 * MIB), sync=True)
        for number in range(40):
            volume.reflink("a", f"copy{number}")
        run = self.dedupe(volume, frees=0, shares=0, pins=0, requests=0)
        self.assertEqual(run.totals["file_bytes_read"], 0, run)

    # Two families of reflinks: all references of one move to the other.
    def test_two_families_of_reflinks(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
            for number in range(5):
                volume.reflink(name, f"{name}{number}")
        self.dedupe(volume, frees=MIB, shares=6 * MIB, requests=6)

    # The one that is shared most stays: least to move.
    def test_the_shared_copy_stays(self):
        for order in ("ab", "ba"):
            with self.subTest(order):
                volume = self.volume()
                for name in order:
                    volume.write(name, pattern(1, MIB), sync=True)
                for number in range(5):
                    volume.reflink("a", f"a{number}")
                places = volume.places("a")
                self.dedupe(volume, frees=MIB, shares=MIB, requests=1,
                            state=volume.folder + "/state")
                self.assertEqual(volume.places("a"), places)

    # A reflink of a part keeps the whole extent: it has to move too.
    def test_partial_reflinks(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        volume.reflink("b", "part")
        volume.overwrite("part", 0, pattern(2, 256 * KIB))
        volume.reflink("b", "short")
        volume.truncate("short", 300 * KIB)
        # The extent with most references stays: one reference moves.
        self.dedupe(volume, frees=MIB, shares=MIB)

    # Reflinks inside one file.
    def test_references_at_many_places_of_one_file(self):
        volume = self.volume()
        piece = pattern(1, 128 * KIB)
        volume.write("a", piece, sync=True)
        volume.write("many", piece * 6, cuts=range(128 * KIB, 6 * 128 * KIB, 128 * KIB))
        self.dedupe(volume, frees=6 * 128 * KIB)

    # Hundreds of references to the extent that goes.
    def test_many_references(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, 64 * KIB), sync=True)
            for number in range(300):
                volume.reflink(name, f"{name}{number}")
        self.dedupe(volume, frees=64 * KIB, shares=301 * 64 * KIB)

    # A file that was cloned, then defragmented by its user: found again (case 175).
    def test_defragmented_after_a_run(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), cuts=range(64 * KIB, MIB, 64 * KIB))
        self.dedupe(volume, frees=MIB)
        command("btrfs", "filesystem", "defragment", "-f", "-t", "32M", volume.path("b"))
        more = volume.used_data() - MIB
        if not more:
            self.skipTest("defragment left the file shared")
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), MIB)

    # Case 6, 90: a directory full of links and a copy.
    def test_links_in_other_folders(self):
        volume = self.volume()
        volume.write("x/a", pattern(1, MIB))
        volume.write("y/b", pattern(1, MIB))
        for number in range(50):
            os.makedirs(volume.path(f"z{number}"))
            volume.link("x/a", f"z{number}/a")
        self.dedupe(volume, frees=MIB, shares=MIB, requests=1)


if __name__ == "__main__":
    case.main()
