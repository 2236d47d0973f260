#!/usr/bin/env python3
"""Blocks without a copy that are written anew, so that the rest of their extent can be freed."""

import os
import random
import re
import shutil
import subprocess
import threading

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

    # Most files are small; their last block must not keep them from being found. Of three blocks two
    # are freed for one that is written; of two only one is, which does not pay.
    def test_small_files_of_an_image(self):
        volume = self.volume()
        pieces = [pattern(10 * count + number, count * BLOCK + 100 + number)
                  for count in (1, 2, 3) for number in range(8)]
        self.image(volume, pieces)
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        run = self.dedupe(volume, frees=8 * (2 + 3) * BLOCK, pins=8 * 2 * BLOCK)
        self.assertEqual(run.totals["bytes_written"], 16 * BLOCK, run)
        self.assertEqual(run.totals["pinned_by"], {"tail": 8 * 2 * BLOCK}, run)
        run = self.dedupe(volume, "--relocate=all", frees=8 * BLOCK, pins=0)
        self.assertEqual(run.totals["bytes_written"], 8 * BLOCK, run)

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

    # After each step in turn: nothing is lost, nothing is left behind, and the next run ends it.
    def test_killed_after_every_step(self):
        if not shutil.which("cc"):
            self.skipTest("needs a C compiler")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kill_after.c")
        library = os.path.join(self.folder, "kill_after.so")
        command("cc", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source, "-ldl")
        piece = pattern(1, 60 * BLOCK + 1000)
        master = self.volume()
        self.image(master, [piece])
        master.write("f", piece, sync=True)
        before = case.manifest(master.root)
        used = master.used_data()
        master.unmount()
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        killed = True
        last = 0
        while killed and last < 8:
            last += 1
            volume = self.copy_of(master.image)
            process = self.start(
                "--threads=1", volume.root,
                env={"LD_PRELOAD": library, "ONEFOLD_KILL_AFTER": str(last),
                     "ASAN_OPTIONS": options})
            process.communicate(timeout=case.DEADLINE_SECONDS)
            killed = process.returncode == -9
            volume.unmount()
            volume.mount()
            self.assertEqual([], case.differences(before, case.manifest(volume.root)), last)
            self.onefold(volume.root)
            self.assertEqual([], case.differences(before, case.manifest(volume.root)), last)
            self.assertEqual(used - volume.used_data(), 60 * BLOCK, f"step {last}")
            volume.close()
        # A nameless file, emptied, written, its data shared, then the rest.
        self.assertGreater(last, 5)

    @staticmethod
    def room(volume):
        """Bytes that data may still take."""
        volume.sync()
        out = command("btrfs", "filesystem", "usage", "-b", volume.root)
        unallocated = int(re.search(r"Device unallocated:\s+(\d+)", out)[1])
        size, used = re.search(r"^Data,single: Size:(\d+), Used:(\d+)", out, re.MULTILINE).groups()
        return unallocated + int(size) - int(used)

    # There is room when it begins, and none any more before all is written: what could not be
    # written is as it was, what could be has freed its extent.
    def test_volume_fills_up_while_it_writes(self):
        volume = self.volume(size="448M")
        pieces = [pattern(number, 2 * MIB) for number in range(40)]
        self.image(volume, pieces)
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece + pattern(7000 + number, 2 * MIB), sync=True)
        with open(volume.path("filler"), "wb", buffering=0) as filler:
            while (room := self.room(volume)) > 67 * MIB:
                filler.write(os.urandom(min(room - 66 * MIB, 16 * MIB)))
                os.fsync(filler.fileno())
        run = self.dedupe(volume, "--relocate-gain=1", settled=False)
        self.assertIn("no space", run.totals["skipped"], run)
        self.assertGreater(run.totals["bytes_freed"], 0, run)
        os.remove(volume.path("filler"))
        rest = 40 * 2 * MIB - run.totals["bytes_freed"]
        self.dedupe(volume, "--relocate-gain=1", frees=rest, pins=0)

    # The limit of a quota group counts for what is written and for what is shared, too.
    def test_quota_is_reached(self):
        volume = self.volume()
        volume.subvolume("data")
        pieces = [pattern(number, 30 * BLOCK + 1000) for number in range(20)]
        self.image(volume, pieces, name="data/disk.img")
        for number, piece in enumerate(pieces):
            volume.write(f"data/{number}", piece)
        volume.sync()
        command("btrfs", "quota", "enable", volume.root)
        command("btrfs", "quota", "rescan", "-w", volume.root)
        rows = command("btrfs", "qgroup", "show", "--raw", volume.root).splitlines()
        used, group = max((int(row.split()[1]), row.split()[0]) for row in rows
                          if row.startswith("0/"))
        command("btrfs", "qgroup", "limit", used + BLOCK, group, volume.root)
        run = self.dedupe(volume, code=2, frees=0, settled=False)
        self.assertEqual({problem["reason"] for problem in run.problems}, {"quota reached"}, run)
        command("btrfs", "qgroup", "limit", "none", group, volume.root)
        self.dedupe(volume, frees=20 * 30 * BLOCK, pins=0)

    # What is appended meanwhile stays, whether the tail was moved before or not at all.
    def test_file_grows_while_its_tail_is_moved(self):
        volume = self.volume()
        pieces = [pattern(number, 30 * BLOCK + 1000) for number in range(200)]
        self.image(volume, pieces)
        for number, piece in enumerate(pieces):
            volume.write(f"files/{number}", piece)
        volume.sync()
        expected = dict(enumerate(pieces))
        done = threading.Event()

        def grow():
            while not done.is_set():
                for number in range(0, 200, 3):
                    added = pattern(9000 + number, 700)
                    with open(volume.path(f"files/{number}"), "ab", buffering=0) as file:
                        file.write(added)
                    expected[number] += added
                    if done.is_set():
                        return

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            run = self.onefold(volume.root)
        finally:
            done.set()
            thread.join()
        self.assertEqual(run.code, 0, run)
        for number, content in expected.items():
            self.assertEqual(volume.read(f"files/{number}"), content, number)
        self.assertGreater(run.totals["bytes_freed"], 0, run)

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
