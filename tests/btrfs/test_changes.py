#!/usr/bin/env python3
"""Files that change between the scan and the run, or while it runs: no byte may get lost."""

import os
import random
import threading
import time

import case
from manifest import differences, manifest
from volume import BLOCK, KIB, MIB, command, pattern


class BetweenTest(case.OnefoldTest):
    """The dry run scans, then something happens, then the run works from what was scanned."""

    def scanned(self, count=4, size=MIB):
        volume = self.volume()
        for number in range(count):
            volume.write(f"f{number}", pattern(1, size), sync=True)
        self.preview(volume)
        return volume

    # One byte written after hashing: cases 1, 8, 10.
    def test_one_byte_changed(self):
        volume = self.scanned(2)
        volume.overwrite("f1", 500_000, b"!")
        self.dedupe(volume)
        self.assertEqual(volume.read("f1")[500_000:500_001], b"!")
        self.assertEqual(volume.read("f0"), pattern(1, MIB))

    # The same without a flush: the change is only in memory when the run begins.
    def test_one_byte_changed_in_memory(self):
        volume = self.scanned(2)
        volume.overwrite("f1", 500_000, b"!", sync=False)
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 0, run)
        self.assertEqual(volume.read("f1")[500_000:500_001], b"!")

    # Truncated, appended to: the others are folded (cases 104, 107).
    def test_truncated_and_appended(self):
        volume = self.scanned(4)
        volume.truncate("f2", 512 * KIB)
        volume.append("f3", pattern(2, BLOCK))
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), MIB + BLOCK)

    # Cut inside a block, then longer again: what lies behind the cut reads as zeros.
    def test_truncated_inside_a_block(self):
        volume = self.scanned(3)
        volume.truncate("f1", 600_001)
        volume.truncate("f2", 600_001)
        volume.truncate("f2", MIB)
        self.dedupe(volume)
        self.assertEqual(volume.read("f1"), pattern(1, MIB)[:600_001])
        self.assertEqual(volume.read("f2"), pattern(1, MIB)[:600_001] + bytes(MIB - 600_001))

    # Deleted: cases 39, 43, 106.
    def test_deleted(self):
        volume = self.scanned(4)
        os.unlink(volume.path("f0"))
        os.unlink(volume.path("f3"))
        self.dedupe(volume, frees=MIB, shares=MIB)

    def test_all_but_one_deleted(self):
        volume = self.scanned(2)
        os.unlink(volume.path("f1"))
        self.dedupe(volume, frees=0, shares=0, requests=0)

    # Replaced by a file of other content under the same name.
    def test_replaced(self):
        volume = self.scanned(3)
        os.rename(volume.write("new", pattern(2, MIB), sync=True), volume.path("f1"))
        self.dedupe(volume, frees=MIB, shares=MIB)
        self.assertEqual(volume.read("f1"), pattern(2, MIB))

    # Renamed and moved: inodes are what counts.
    def test_renamed(self):
        volume = self.scanned(2)
        volume.folder_at("other")
        os.rename(volume.path("f1"), volume.path("other/g"))
        self.dedupe(volume, frees=MIB)

    # A hole punched, a range swapped with equal data elsewhere.
    def test_hole_punched(self):
        volume = self.scanned(2)
        volume.punch("f1", 128 * KIB, 128 * KIB)
        self.dedupe(volume, frees=MIB)

    # Address used again by other data of the same length.
    def test_address_used_again(self):
        volume = self.scanned(2)
        os.unlink(volume.path("f1"))
        volume.sync()
        for number in range(20):
            volume.write(f"g{number}", pattern(10 + number, MIB), sync=True)
        self.dedupe(volume, frees=0, shares=0, requests=0)

    # Attributes changed in between stay changed.
    def test_attributes_changed(self):
        volume = self.scanned(2)
        os.chmod(volume.path("f1"), 0o600)
        os.utime(volume.path("f1"), ns=(1, 2))
        self.dedupe(volume, frees=MIB)

    # Remounted: inode numbers and devices may be new (cases 92, 94).
    def test_remounted(self):
        volume = self.scanned(2)
        volume.unmount()
        volume.mount()
        run = self.dedupe(volume, frees=MIB)
        self.assertEqual(run.totals["extents_scanned"], 0, run)

    # The filesystem was restored from an older image: the index belongs to another life of it.
    def test_older_image_restored(self):
        volume = self.volume()
        volume.write("old", pattern(1, MIB), sync=True)
        volume.unmount()
        saved = volume.image + ".saved"
        command("cp", "--sparse=always", volume.image, saved)
        volume.mount()
        for number in range(5):
            volume.write(f"f{number}", pattern(2, MIB), sync=True)
        self.dedupe(volume, frees=4 * MIB)
        volume.unmount()
        os.rename(saved, volume.image)
        volume.mount()
        for number in range(3):
            volume.write(f"g{number}", pattern(3, MIB), sync=True)
        self.dedupe(volume, frees=2 * MIB)
        self.assertEqual(volume.used_data(), 2 * MIB)


class DuringTest(case.OnefoldTest):

    # A writer that never stops keeps a shadow copy: every byte is as written (cases 2, 115).
    def test_writer_during_the_whole_run(self):
        volume = self.volume(size="1G")
        size = 64 * MIB
        shadow = bytearray(pattern(1, size))
        for name in ("a", "b"):
            volume.write(name, bytes(shadow), sync=True)
        for number in range(400):
            for name in ("c", "d"):
                volume.write(f"{name}/{number}", pattern(number, 64 * KIB))
        volume.sync()
        before = manifest(volume.root)
        numbers, stop, writes = random.Random(case.SEED), threading.Event(), [0]

        def write():
            fd = os.open(volume.path("b"), os.O_WRONLY)
            while not stop.is_set():
                at = numbers.randrange(size // BLOCK) * BLOCK
                data = numbers.randbytes(BLOCK)
                os.pwrite(fd, data, at)
                shadow[at:at + BLOCK] = data
                writes[0] += 1
                if writes[0] % 50 == 0:
                    os.fdatasync(fd)
            os.close(fd)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            time.sleep(0.2)
            runs = [self.onefold(volume.root) for _ in range(2)]
        finally:
            stop.set()
            writer.join()
        self.assertGreater(writes[0], 50)
        for run in runs:
            self.assertEqual(run.code, 0, run)
        self.assertTrue(volume.read("b") == shadow, f"lost a write, seed {case.SEED}")
        after = manifest(volume.root)
        changed = [line for line in differences(before, after) if not line.startswith("'b'")]
        self.assertEqual(changed, [])
        self.dedupe(volume)

    # Files that are appended to, truncated, removed, renamed and made while the run goes on.
    def test_busy_tree(self):
        volume = self.volume(size="1G")
        for number in range(600):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 64 * KIB))
        volume.sync()
        command("sysctl", "-q", "vm.drop_caches=3", check=False)
        numbers, stop = random.Random(case.SEED), threading.Event()
        expected = {f"{name}/{number}": pattern(number, 64 * KIB)
                    for name in ("a", "b") for number in range(600)}

        def disturb():
            made = 0
            while not stop.is_set():
                name = numbers.choice(sorted(expected)[::7] or list(expected))
                action = numbers.randrange(5)
                if action == 0:
                    volume.append(name, b"more")
                    expected[name] += b"more"
                elif action == 1:
                    volume.truncate(name, 10_000)
                    expected[name] = expected[name][:10_000].ljust(10_000, b"\0")
                elif action == 2 and len(expected) > 1000:
                    os.unlink(volume.path(name))
                    del expected[name]
                elif action == 3:
                    os.rename(volume.path(name), volume.path(f"moved{made}"))
                    expected[f"moved{made}"] = expected.pop(name)
                else:
                    expected[f"new{made}"] = pattern(numbers.randrange(600), 64 * KIB)
                    volume.write(f"new{made}", expected[f"new{made}"])
                made += 1

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            runs = [self.onefold(volume.root) for _ in range(3)]
        finally:
            stop.set()
            thread.join()
        for run in runs:
            self.assertEqual(run.code, 0, run)
        for name, data in expected.items():
            self.assertTrue(volume.read(name) == data, f"{name}, seed {case.SEED}")
        self.dedupe(volume)

    # A file that only grows is no damage and no alarm: cases 41, 108.
    def test_growing_file(self):
        volume = self.volume()
        for name in ("a", "b", "log"):
            volume.write(name, pattern(1, 4 * MIB), sync=True)
        stop = threading.Event()

        def grow():
            while not stop.is_set():
                volume.append("log", pattern(2, 64 * KIB))

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            run = self.onefold(volume.root)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(run.code, 0, run)
        self.assertTrue(volume.read("log").startswith(pattern(1, 4 * MIB)))

    # Another run works on the same filesystem, with another state (case 114): each would count what the
    # other moved, so the later one is refused.
    def test_two_dedupers(self):
        volume = self.volume(size="1G")
        for number in range(500):
            for name in ("a", "b", "c"):
                volume.write(f"{name}/{number}", pattern(number, 32 * KIB))
        volume.sync()
        before = manifest(volume.root)
        first = self.start("--json", volume.root)
        second = self.start("--json", volume.root, state=self.state + "2")
        runs = [self.finish(process) for process in (first, second)]
        self.assertIn(0, [run.code for run in runs], runs)
        for run in runs:
            if run.code != 0:
                self.assertEqual(run.code, 1, run)
                self.assertIn("another run of onefold", run.stdout + run.stderr)
        self.assertEqual(sum(run.totals["bytes_freed"] or 0 for run in runs), 2 * 500 * 32 * KIB)
        self.assertEqual(differences(before, manifest(volume.root)), [])
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), 500 * 32 * KIB)


if __name__ == "__main__":
    case.main()
