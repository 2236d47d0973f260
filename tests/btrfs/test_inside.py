#!/usr/bin/env python3
"""Data that lies somewhere inside other data: images, archives, logs that grew."""

import os
import random

import case
from volume import BLOCK, KIB, MIB, pattern


class InsideTest(case.OnefoldTest):

    def image(self, pieces, gap=36 * KIB):
        """An image that holds the pieces, each padded to a block, between other data."""
        content = b""
        for number, piece in enumerate(pieces):
            padding = -len(piece) % BLOCK
            content += pattern(1000 + number, gap) + piece + bytes(padding)
        return content + pattern(999, gap)

    # A disk image beside its files.
    def test_files_of_a_disk_image(self):
        volume = self.volume()
        numbers = random.Random(1)
        sizes = [numbers.randrange(1, 60) * BLOCK for _ in range(150)]
        pieces = [pattern(seed, size) for seed, size in enumerate(sizes)]
        volume.write("disk.img", self.image(pieces), sync=True)
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        places = volume.places("disk.img")
        self.dedupe(volume, frees=sum(sizes), shares=sum(sizes), pins=0)
        self.assertEqual(volume.places("disk.img"), places, "the image stays in one piece")

    # The files came first, the image later, in another run: new data against old heads is exact.
    def test_image_that_came_later(self):
        volume = self.volume()
        pieces = [pattern(seed, 64 * KIB) for seed in range(20)]
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        self.dedupe(volume, frees=0)
        volume.write("disk.img", self.image(pieces), sync=True)
        self.dedupe(volume, frees=20 * 64 * KIB)

    # Short files against an old image: a full pass finds what an incremental run may miss.
    def test_full_pass_finds_old_data(self):
        volume = self.volume()
        pieces = [pattern(seed, 8 * KIB) for seed in range(8)]
        volume.write("disk.img", self.image(pieces), sync=True)
        for seed in range(2000, 2300):
            volume.write(f"other/{seed}", pattern(seed, 8 * KIB))
        self.dedupe(volume, frees=0)
        used = volume.used_data()
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        self.onefold(volume.root)
        self.dedupe(volume, "--full")
        self.assertEqual(volume.used_data(), used)

    # An older, shorter version of a log. Its last, partial block cannot be shared with a block that
    # goes on, so the extent that holds it stays and is said to.
    def test_shorter_version_of_a_log(self):
        volume = self.volume()
        log = pattern(1, 3 * MIB)
        volume.write("log", log, sync=True)
        volume.write("log.1", log[:MIB], sync=True)
        volume.write("log.2", log[:1_000_000], cuts=[512 * KIB])
        run = self.dedupe(volume, "--relocate=never", frees=MIB + 512 * KIB,
                          pins=1_003_520 - 512 * KIB)
        self.assertEqual(run.totals["pinned_by"], {"tail": 1_003_520 - 512 * KIB}, run)

    # 30 blocks and 1000 bytes inside an image occupy what they did: nothing is freed by a part.
    def test_tail_against_the_middle_of_a_file(self):
        volume = self.volume()
        piece = pattern(1, 30 * BLOCK + 1000)
        volume.write("disk.img", self.image([piece]), sync=True)
        volume.write("f", piece, sync=True)
        run = self.dedupe(volume, "--relocate=never", frees=0, shares=0, requests=0,
                          pins=31 * BLOCK)
        self.assertEqual(run.totals["pinned_by"], {"tail": 31 * BLOCK}, run)

    # A file across several extents of the image.
    def test_piece_across_extents(self):
        volume = self.volume()
        piece = pattern(1, 512 * KIB)
        content = pattern(2, 64 * KIB) + piece + pattern(3, 64 * KIB)
        volume.write("archive", content, cuts=[192 * KIB, 320 * KIB, 452 * KIB])
        volume.write("f", piece, sync=True)
        self.dedupe(volume, frees=512 * KIB)

    # Case 168: extents that overlap in part only free nothing, so nothing is done to them.
    def test_half_equal_extents_are_left_alone(self):
        volume = self.volume()
        half = pattern(1, 512 * KIB)
        volume.write("x", half + pattern(2, 512 * KIB), sync=True)
        volume.write("y", half + pattern(3, 512 * KIB), sync=True)
        run = self.dedupe(volume, frees=0, shares=0, requests=0)
        self.assertGreaterEqual(run.totals["pinned_by"].get("unmatched_blocks", 0), MIB, run)
        # Rewriting y's second half leaves its old extent needed for the equal half only.
        volume.overwrite("y", 512 * KIB, pattern(4, 512 * KIB))
        self.dedupe(volume, "--full", frees=MIB)

    # Of two equal extents one has a dead half: only keeping the other frees something.
    def test_extent_with_a_dead_half(self):
        for name in ("whole first", "dead first"):
            with self.subTest(name):
                volume = self.volume()
                order = ("whole", "dead") if name == "whole first" else ("dead", "whole")
                for file in order:
                    volume.write(file, pattern(1, MIB), sync=True)
                volume.overwrite("dead", 512 * KIB, pattern(2, 512 * KIB))
                self.dedupe(volume, frees=MIB, shares=512 * KIB, state=volume.folder + "/state")

    # Only referenced blocks need a partner, also where the middle was punched out.
    def test_extent_with_a_hole_punched_into_it(self):
        volume = self.volume()
        for name in "ab":
            volume.write(name, pattern(1, MIB), sync=True)
        volume.punch("b", 256 * KIB, 256 * KIB)
        self.dedupe(volume, frees=MIB, shares=768 * KIB)

    # Not aligned to blocks: no match, and no error either.
    def test_unaligned_archive(self):
        volume = self.volume()
        piece = pattern(1, MIB)
        volume.write("tar", bytes(512) + piece + bytes(512), sync=True)
        volume.write("f", piece, sync=True)
        self.dedupe(volume, frees=0, shares=0, requests=0, pins=0)

    # --match=extents turns the inside kind off and leaves the rest on: case 204.
    def test_match_extents(self):
        volume = self.volume()
        piece = pattern(1, 64 * KIB)
        volume.write("disk.img", self.image([piece]), sync=True)
        for name, data in (("inside", piece), ("a", pattern(2, MIB)), ("b", pattern(2, MIB))):
            volume.write(name, data)
        self.dedupe(volume, "--match=extents", frees=MIB)
        self.dedupe(volume, "--match=all", frees=64 * KIB)

    # Blocks that repeat for megabytes must not cost the square of them: cases 55, 146.
    def test_zero_filled_images(self):
        volume = self.volume()
        for name, size in (("one", 48), ("two", 64), ("three", 64)):
            head = pattern(len(name), MIB)
            volume.write(name, head + bytes((size - 1) * MIB) + head[::-1], sync=True)
        for name in ("zeros1", "zeros2"):
            volume.write(name, bytes(MIB), sync=True)
        run = self.dedupe(volume)
        self.assertGreaterEqual(run.totals["bytes_freed"], MIB, run)
        self.assertLess(run.seconds, 30 * case.SLOWNESS)

    # Images that share pieces at other offsets are read once each at most.
    def test_no_data_is_read_that_is_not_folded(self):
        volume = self.volume()
        half = pattern(1, 512 * KIB)
        for seed in range(2, 10):
            volume.write(f"f{seed}", half + pattern(seed, 512 * KIB), sync=True)
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertEqual(run.totals["file_bytes_read"], 0, run)


class StateOfFileTest(case.OnefoldTest):

    # A file that is only open, its name gone, holds its extent: that is no error.
    def test_deleted_file_that_is_still_open(self):
        volume = self.volume()
        volume.write("a", pattern(1, MIB), sync=True)
        with open(volume.write("b", pattern(1, MIB), sync=True), "rb") as file:
            os.unlink(volume.path("b"))
            run = self.onefold(volume.root)
            self.assertEqual(run.code, 0, run)
            self.assertEqual(file.read(), pattern(1, MIB))

    # A file of which every third block was written anew, one at a time: a hundred extents that lie
    # between references of one large extent. Each figure holds though extents are found, and their
    # references moved, in several steps.
    def fragmented(self, volume):
        data = pattern(1, MIB)
        volume.write("contiguous", data, sync=True)
        path = volume.write("fragmented", data, sync=True)
        with open(path, "r+b", buffering=0) as file:
            for at in range(0, MIB, 12 * KIB):
                os.pwrite(file.fileno(), data[at:at + 4 * KIB], at)
                os.fsync(file.fileno())
        return data

    def check_one_copy_stays(self, volume, left):
        volume.sync()
        frees = volume.used_data() - left
        self.assertEqual(self.preview(volume).totals["bytes_freeable"], frees)
        run = self.dedupe(volume, frees=frees)
        self.assertEqual((run.totals["skipped"], run.totals["bytes_pinned"]), ({}, 0), run)

    def test_fragmented_file_and_half_a_copy(self):
        volume = self.volume()
        data = self.fragmented(volume)
        volume.write("half", data[:MIB // 2], sync=True)
        self.check_one_copy_stays(volume, MIB)

    def test_fragmented_file_and_shifted_copy(self):
        volume = self.volume()
        data = self.fragmented(volume)
        volume.write("shifted", pattern(2, 4 * KIB) + data, sync=True)
        self.check_one_copy_stays(volume, MIB + 4 * KIB)

    # A reflink that was cut tells less of the extent than the whole file.
    def test_cut_reflink_of_a_file_inside_another(self):
        volume = self.volume()
        film = pattern(1, MIB)
        volume.write("film", film, sync=True)
        volume.write("image", pattern(2, 64 * KIB) + film + pattern(3, 64 * KIB), sync=True)
        volume.reflink("film", "cut")
        os.truncate(volume.path("cut"), 400 * KIB)
        self.check_one_copy_stays(volume, MIB + 128 * KIB)


if __name__ == "__main__":
    case.main()
