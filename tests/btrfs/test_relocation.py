#!/usr/bin/env python3
"""Blocks without a copy that are written anew, so that the rest of their extent can be freed."""

import os
import random
import subprocess

import case
from volume import BLOCK, KIB, MIB, command, pattern


def blocks(size):
    return -(-size // BLOCK)


class RelocationTest(case.OnefoldTest):

    def image(self, volume, pieces, name="disk.img", gap=36 * KIB):
        """An image that holds the pieces, each padded to a block with what follows there."""
        content = b""
        for number, piece in enumerate(pieces):
            padding = pattern(5000 + number, -len(piece) % BLOCK)
            content += pattern(1000 + number, gap) + piece + padding
        volume.write(name, content + pattern(999, gap), sync=True)

    # Files of an image are freed but for one block each; design: 30 blocks and 1000 bytes.
    def test_tail_of_a_file_inside_an_image(self):
        volume = self.volume()
        piece = pattern(1, 30 * BLOCK + 1000)
        self.image(volume, [piece])
        volume.write("f", piece, sync=True)
        run = self.dedupe(volume, frees=30 * BLOCK, shares=len(piece), pins=0)
        self.assertEqual(run.totals["bytes_written"], BLOCK, run)

    def test_many_files_of_an_image(self):
        volume = self.volume()
        numbers = random.Random(case.SEED)
        pieces = [pattern(seed, numbers.randrange(4 * BLOCK, 40 * BLOCK)) for seed in range(200)]
        self.image(volume, pieces)
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        whole = sum(len(piece) // BLOCK for piece in pieces)
        run = self.dedupe(volume, frees=whole * BLOCK, pins=0)
        self.assertEqual(run.totals["bytes_written"],
                         sum(1 for piece in pieces if len(piece) % BLOCK) * BLOCK, run)

    # Twice as much must be freed as is written: 10 blocks lie in the image, 6 do not.
    def test_what_does_not_pay_is_pinned(self):
        volume = self.volume()
        piece = pattern(1, 10 * BLOCK)
        self.image(volume, [piece])
        volume.write("f", piece + pattern(2, 6 * BLOCK), sync=True)
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertGreaterEqual(run.totals["pinned_by"]["unmatched_blocks"], 16 * BLOCK, run)
        run = self.dedupe(volume, "--relocate=all", frees=10 * BLOCK)
        self.assertEqual(run.totals["bytes_written"], 6 * BLOCK, run)

    # Nothing is written, but what that would free is told; later it is done without --full.
    def test_never_then_tails(self):
        volume = self.volume()
        piece = pattern(1, 30 * BLOCK + 1000)
        self.image(volume, [piece])
        volume.write("f", piece, sync=True)
        run = self.dedupe(volume, "--relocate=never", frees=0, requests=0, pins=31 * BLOCK,
                          settled=False)
        self.assertEqual(run.totals["bytes_relocatable"], 30 * BLOCK, run)
        self.assertEqual(run.totals["bytes_written"], 0, run)
        self.dedupe(volume, frees=30 * BLOCK)

    def test_dry_run_tells_the_net_gain(self):
        volume = self.volume()
        piece = pattern(1, 30 * BLOCK + 1000)
        self.image(volume, [piece])
        volume.write("f", piece, sync=True)
        run = self.preview(volume)
        self.assertEqual(run.totals["bytes_freeable"], 30 * BLOCK, run)

    # A file whose data lies in the image in two places: the second half is written anew, found
    # there, and let go again, all in one run.
    def test_file_in_two_places_of_an_image(self):
        volume = self.volume()
        piece = pattern(1, 96 * BLOCK)
        self.image(volume, [piece[:64 * BLOCK], piece[64 * BLOCK:]])
        volume.write("f", piece, sync=True)
        self.dedupe(volume, "--relocate-gain=1", frees=96 * BLOCK, pins=0)

    # A changed block in the middle of a large file holds the whole extent.
    def test_changed_block_in_a_copy(self):
        volume = self.volume()
        content = pattern(1, MIB)
        volume.write("a", content, sync=True)
        changed = content[:900 * KIB] + pattern(2, BLOCK) + content[900 * KIB + BLOCK:]
        volume.write("b", changed, sync=True)
        run = self.dedupe(volume)
        self.assertGreater(run.totals["bytes_freed"], 0, run)

    # Snapshots hold the tail, too; they share the copy, and stay read-only.
    def test_under_snapshots(self):
        volume = self.volume()
        volume.subvolume("data")
        piece = pattern(1, 200 * BLOCK + 1000)
        self.image(volume, [piece])
        volume.write("data/f", piece, sync=True)
        for number in range(5):
            volume.snapshot("data", f"snap{number}")
        run = self.dedupe(volume, frees=200 * BLOCK, pins=0)
        self.assertEqual(run.totals["bytes_written"], BLOCK, run)
        self.assertTrue(all(volume.is_readonly(f"snap{number}") for number in range(5)))

    # Directories hand nodatacow and compression down to what is made in them.
    def test_inherited_flags(self):
        for flag in ("+C", "+c", "+m"):
            with self.subTest(flag):
                volume = self.volume()
                piece = pattern(1, 30 * BLOCK + 1000)
                self.image(volume, [piece])
                volume.write("f", piece, sync=True)
                command("chattr", flag, volume.root)
                self.dedupe(volume, frees=30 * BLOCK, state=volume.folder + "/state")

    def test_compressed_mount(self):
        for options in ("compress=zstd", "compress-force=zstd"):
            with self.subTest(options):
                volume = self.volume()
                piece = pattern(1, 30 * BLOCK + 1000)
                self.image(volume, [piece])
                volume.write("f", piece, sync=True)
                volume.unmount()
                volume.mount(options)
                self.dedupe(volume, frees=30 * BLOCK, state=volume.folder + "/state")

    # The roots are files, or lie in read-only subvolumes: there is no place to write.
    def test_no_place_to_write(self):
        volume = self.volume()
        piece = pattern(1, 30 * BLOCK + 1000)
        volume.subvolume("data")
        volume.write("data/f", piece, sync=True)
        self.image(volume, [piece], name="data/disk.img")
        volume.snapshot("data", "snap")
        volume.delete_subvolume("data")
        run = self.dedupe(volume, paths=[volume.path("snap")], frees=0)
        self.assertEqual(run.totals["pinned_by"], {"tail": 31 * BLOCK}, run)

    # Nothing is left behind, whenever the program is killed: scratch files have no name.
    def test_killed_while_it_writes(self):
        volume = self.volume()
        numbers = random.Random(case.SEED)
        pieces = [pattern(seed, numbers.randrange(4 * BLOCK, 20 * BLOCK) | 1)
                  for seed in range(300)]
        self.image(volume, pieces)
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        volume.sync()
        before = case.manifest(volume.root)
        used = volume.used_data()
        for delay in (0.05, 0.1, 0.2, 0.4):
            process = subprocess.Popen(
                [case.binary(), "dedupe", "-q", "--state", self.state, volume.root],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(delay * case.SLOWNESS)
            except subprocess.TimeoutExpired:
                process.kill()
            process.wait()
        self.onefold(volume.root)
        volume.unmount()
        volume.mount()
        volume.sync()
        self.assertEqual([], case.differences(before, case.manifest(volume.root)))
        whole = sum(len(piece) // BLOCK for piece in pieces) * BLOCK
        self.assertEqual(used - volume.used_data(), whole)
        self.assertEqual(self.onefold(volume.root).totals["dedupe_requests"], 0)

    # Full to the last block: nothing can be written, everything else goes on.
    def test_full_volume(self):
        volume = self.volume(size="256M")
        piece = pattern(1, 30 * BLOCK + 1000)
        self.image(volume, [piece])
        volume.write("f", piece, sync=True)
        volume.write("pair/a", pattern(2, MIB), sync=True)
        volume.write("pair/b", pattern(2, MIB), sync=True)
        with open(volume.path("filler"), "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(os.urandom(MIB))
            except OSError:
                pass
        volume.sync()
        run = self.dedupe(volume, frees=MIB, settled=False)
        self.assertEqual(run.totals["bytes_written"], 0, run)


if __name__ == "__main__":
    case.main()
