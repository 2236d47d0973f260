#!/usr/bin/env python3
"""Identical files are folded, whatever their size and however their extents are cut."""

import os

import case
from volume import BLOCK, KIB, MIB, command, pattern


def on_disk(size):
    """What a file of `size` bytes occupies."""
    return -(-size // BLOCK) * BLOCK


class SizeTest(case.OnefoldTest):

    # No lower bound, tails up to end of file included: cases 65, 67, 205.
    def test_pairs_of_many_sizes(self):
        volume = self.volume()
        sizes = [2049, 4095, 4096, 4097, 8192, 20 * KIB, 64 * KIB, 100 * KIB + 1, 128 * KIB - 1,
                 128 * KIB, 128 * KIB + 1, 1_000_000, MIB, 5 * MIB + 4097]
        for seed, size in enumerate(sizes):
            volume.write(f"one/{size}", pattern(seed, size))
            volume.write(f"two/{size}", pattern(seed, size))
        self.dedupe(volume, frees=sum(map(on_disk, sizes)), pins=0)
        for size in sizes:
            self.assertTrue(volume.same_place(f"one/{size}", f"two/{size}"), size)

    # One pair is one request; the figures name file bytes and disk bytes: case 131.
    def test_figures_of_one_pair(self):
        volume = self.volume()
        for name in "ab":
            volume.write(name, pattern(1, MIB))
        run = self.dedupe(volume, frees=MIB, shares=MIB, pins=0, requests=1)
        self.assertEqual(run.totals["bytes_written"], 0)
        self.assertEqual(run.totals["extents_total"], 1)
        self.assertEqual(run.totals["extents_scanned"], 2)
        self.assertEqual(run.totals["bytes_scanned"], 2 * MIB)

    # A tail must not pin its file: 245 blocks of 1,000,000 bytes (case 67).
    def test_figures_of_an_unaligned_pair(self):
        volume = self.volume()
        for name in "ab":
            volume.write(name, pattern(1, 1_000_000))
        run = self.dedupe(volume, frees=1_003_520)
        self.assertIn(run.totals["bytes_shared"], (1_000_000, 1_003_520))

    # 135 bytes stay 135 bytes: cases 4, 58.
    def test_files_below_a_block_without_inlining(self):
        volume = self.volume(mount="max_inline=0")
        for size in (1, 135, 2048, 4097):
            for name in "ab":
                volume.write(f"{name}{size}", pattern(size, size))
        self.dedupe(volume, frees=3 * BLOCK + 2 * BLOCK)
        self.assertEqual(len(volume.read("b135")), 135)

    # Inline data cannot be shared and is no work: cases 57, 58, 207.
    def test_inline_files_are_no_work(self):
        volume = self.volume()
        for number in range(500):
            volume.write(f"same/{number}", pattern(1, 1024))
            volume.write(f"other/{number}", pattern(number, 1024))
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertEqual(run.totals["extents_total"], 0)

    # Bigger than any limit of a call: cases 26, 72.
    def test_big_pair(self):
        volume = self.volume()
        for name in "ab":
            volume.write(name, pattern(1, 100 * MIB))
        command("sysctl", "-q", "vm.drop_caches=3", check=False)
        self.dedupe(volume, frees=100 * MIB, shares=100 * MIB)

    # What is still in memory only counts too: delayed allocation is in no tree.
    def test_unflushed_writes_are_seen(self):
        volume = self.volume(mount="commit=300")
        for name in "ab":
            volume.write(name, pattern(1, MIB))
        run = self.onefold(volume.root)
        self.assertEqual(run.totals["bytes_freed"], MIB, run)
        self.assertEqual(volume.used_data(), MIB)

    # Case 198.
    def test_empty_filesystem(self):
        self.dedupe(self.volume(), frees=0, shares=0, pins=0, requests=0)

    # Nothing equal, nothing done.
    def test_unique_files(self):
        volume = self.volume()
        for seed in range(200):
            volume.write(str(seed), pattern(seed, 20 * KIB))
        run = self.dedupe(volume, frees=0, shares=0, pins=0, requests=0)
        self.assertEqual(run.totals["extents_scanned"], 200)
        self.assertEqual(run.totals["file_bytes_read"], 0)

    # Empty files and what is no file at all: cases 22, 40, 123.
    def test_other_kinds_of_entries(self):
        volume = self.volume()
        volume.write("empty1", b"")
        volume.write("empty2", b"")
        for name in ("a", "deep/b"):
            volume.write(name, pattern(1, MIB))
        os.mkfifo(volume.path("fifo"))
        os.mknod(volume.path("device"), 0o600 | 0o060000, os.makedev(7, 99))
        for target, name in (("nowhere", "dangling"), ("loop", "loop"), (".", "deep/up")):
            os.symlink(target, volume.path(name))
        self.dedupe(volume, frees=MIB)

    # Nanoseconds, owner, mode, ACL, extended attributes: cases 5, 6, 48.
    def test_attributes_of_unlike_owners(self):
        volume = self.volume()
        for name, owner, mode in (("a", 0, 0o600), ("b", 1001, 0o444), ("c", 1002, 0o4755)):
            path = volume.write(name, pattern(1, MIB))
            os.chown(path, owner, owner)
            os.chmod(path, mode)
            os.setxattr(path, "user.note", name.encode())
            os.utime(path, ns=(978_307_200_123_456_789, 978_307_201_987_654_321))
        command("setfacl", "-m", "u:1005:r", volume.path("b"), check=False)
        self.dedupe(volume, frees=2 * MIB)


class CutTest(case.OnefoldTest):

    def check(self, *cuts, size=128 * KIB):
        """Files of equal content with these cuts become one."""
        volume = self.volume()
        for number, cut in enumerate(cuts):
            volume.write(f"f{number}", pattern(1, size), cuts=cut)
            self.assertEqual(len(volume.extents(f"f{number}")), len(cut) + 1)
        run = self.dedupe(volume, frees=(len(cuts) - 1) * on_disk(size))
        self.assertTrue(volume.same_place(*(f"f{number}" for number in range(len(cuts)))))
        return run

    # Case 66.
    def test_one_extent_and_two(self):
        self.check([], [64 * KIB])

    def test_borders_that_overlap(self):
        self.check([48 * KIB], [64 * KIB])

    def test_three_cuts(self):
        self.check([4 * KIB], [64 * KIB, 100 * KIB], [], size=200 * KIB)

    # Tails with different heads: case 69.
    def test_cuts_and_a_tail(self):
        self.check([64 * KIB], [96 * KIB], size=128 * KIB + 777)

    def test_last_block_split_off(self):
        self.check([128 * KIB], [], size=128 * KIB + 777)

    # Hundreds of extents: cases 37, 76.
    def test_many_extents_and_one(self):
        volume = self.volume()
        content = pattern(1, 400 * BLOCK)
        volume.write("one", content)
        volume.write("many", b"")
        fd = os.open(volume.path("many"), os.O_WRONLY)
        for start in (0, 1):  # every other block first, so that neighbours never join
            for block in range(start, 400, 2):
                os.pwrite(fd, content[block * BLOCK:][:BLOCK], block * BLOCK)
            os.fsync(fd)
        os.close(fd)
        self.assertGreater(len(volume.extents("many")), 300)
        self.dedupe(volume, frees=400 * BLOCK)

    # Case 73: each copy is an extent of its own.
    def test_equal_extents_of_one_file(self):
        volume = self.volume()
        piece = 128 * KIB
        volume.write("f", pattern(1, piece) * 8, cuts=range(piece, 8 * piece, piece))
        self.dedupe(volume, frees=7 * piece, shares=7 * piece, pins=0)

    # Equal halves of one extent cannot be freed; the run ends all the same.
    def test_an_extent_that_repeats_itself(self):
        volume = self.volume()
        volume.write("f", pattern(1, 128 * KIB) * 8)
        self.dedupe(volume, frees=0, shares=0, requests=0)

    # Files that differ in one block each: the extents without it are freed (case 78).
    def test_files_that_differ_in_a_block(self):
        volume = self.volume()
        piece = 128 * KIB
        for number in range(10):
            content = bytearray(pattern(1, 8 * piece))
            at = number % 8 * piece + 8192
            content[at:at + 8] = number.to_bytes(8, "little")
            volume.write(f"f{number}", bytes(content), cuts=range(piece, 8 * piece, piece))
        self.dedupe(volume, frees=(2 * 7 + 6 * 8) * piece)

    # Duplicate trees, found in one run: cases 89, 103.
    def test_duplicate_folders(self):
        volume = self.volume()
        for folder in ("one", "two/deep"):
            for number in range(100):
                volume.write(f"{folder}/{number}", pattern(number, 12 * KIB + number))
        self.dedupe(volume, frees=sum(on_disk(12 * KIB + n) for n in range(100)))


class IncrementalTest(case.OnefoldTest):

    # A run after one new duplicate costs that file: cases 82, 142.
    def test_one_new_copy(self):
        volume = self.volume()
        for seed in range(300):
            volume.write(str(seed), pattern(seed, 40 * KIB))
        self.dedupe(volume, frees=0, requests=0)
        volume.write("new", pattern(7, 40 * KIB))
        run = self.dedupe(volume, frees=40 * KIB, shares=40 * KIB, requests=1)
        self.assertTrue(run.report["volumes"][0]["incremental"], run)
        self.assertEqual(run.totals["extents_scanned"], 1, run)
        self.assertLessEqual(run.totals["file_bytes_read"], 80 * KIB, run)

    # Two copies that came one after the other.
    def test_copies_in_different_runs(self):
        volume = self.volume()
        for number in range(4):
            volume.write(f"f{number}", pattern(1, 64 * KIB))
            self.dedupe(volume, frees=64 * KIB if number else 0)

    # What was deleted and written again is new: case 110.
    def test_file_replaced_by_rename(self):
        volume = self.volume()
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            volume.write(name, pattern(seed, MIB))
        self.dedupe(volume, frees=MIB)
        os.rename(volume.write("new", pattern(2, MIB)), volume.path("b"))
        self.dedupe(volume, frees=MIB)

    # The place a filesystem is mounted at does not matter: case 94.
    def test_mounted_elsewhere(self):
        volume = self.volume()
        for name in "ab":
            volume.write(name, pattern(1, MIB))
        self.dedupe(volume, frees=MIB)
        elsewhere = self.mount(volume.loop, os.path.join(self.folder, "elsewhere"), "-t", "btrfs")
        run = self.onefold(elsewhere)
        self.assertEqual((run.code, run.totals["dedupe_requests"]), (0, 0), run)
        self.assertEqual(run.totals["extents_scanned"], 0, run)


if __name__ == "__main__":
    case.main()
