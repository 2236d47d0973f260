#!/usr/bin/env python3
"""kill -9 at random points, then a run: the end is that of a run nobody disturbed.

The points come from ONEFOLD_SEED, which is printed.
"""

import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from manifest import differences, manifest
from volume import KIB, MIB, command, pattern


class KillTest(case.OnefoldTest):

    def fill(self, volume):
        """Pairs of several kinds: plain, other cuts, inside, under a snapshot."""
        # With one copy of metadata a leaf of 16 KiB counts 20 KiB: dropping even a single extent of
        # 24 KiB pays for it. Otherwise what pays would depend on what the killed run had done.
        volume.subvolume("s")
        for number in range(1500):
            data = pattern(number, 24 * KIB)
            for name in ("a", "b"):
                volume.write(f"s/{name}/{number}", data)
        for number in range(20):
            data = pattern(5000 + number, 256 * KIB)
            volume.write(f"cut/{number}", data, cuts=[64 * KIB])
            volume.write(f"whole/{number}", data)
        pieces = [pattern(6000 + number, 64 * KIB) for number in range(20)]
        volume.write("image", b"".join(pattern(7000 + n, 8 * KIB) + piece
                                       for n, piece in enumerate(pieces)), sync=True)
        for number, piece in enumerate(pieces):
            volume.write(f"inside/{number}", piece)
        volume.sync()
        volume.snapshot("s", "snap")

    def master(self):
        """The image all rounds start from, what an undisturbed run makes of it, and how long one
        takes."""
        if "_master" not in type(self).__dict__:
            type(self)._master = self.make_master()
        return self._master

    def make_master(self):
        volume = self.volume(size="512M", mkfs=["-m", "single"])
        self.fill(volume)
        before = manifest(volume.root)
        volume.unmount()
        master = os.path.join(self.class_folder(), "master.img")
        command("cp", "--sparse=always", volume.image, master)
        volume.mount()
        command("sysctl", "-q", "vm.drop_caches=3", check=False)
        run = self.dedupe(volume, frees=(1500 * 24 + 20 * 256 + 20 * 64) * KIB)
        used = volume.used_data()
        volume.unmount()  # the copies have the same id: only one of them can be mounted
        return master, before, used, run.seconds

    def kill_after(self, seconds, *arguments):
        process = self.start(*arguments)
        time.sleep(seconds)
        process.kill()
        process.communicate()
        return process.returncode == -signal.SIGKILL

    # A kill, then a run; each round from the same image.
    def test_kill_then_run(self):
        numbers = random.Random(case.SEED)
        print(f"ONEFOLD_SEED={case.SEED}", file=sys.stderr)
        master, before, used, seconds = self.master()
        killed = 0
        for round_number in range(8):
            volume = self.copy_of(master)
            command("sysctl", "-q", "vm.drop_caches=3", check=False)
            delay = numbers.uniform(0, seconds)
            with self.subTest(round=round_number, delay=delay):
                killed += self.kill_after(delay, volume.root)
                run = self.onefold(volume.root)
                self.assertEqual(run.code, 0, run)
                self.assertEqual(volume.used_data(), used, run)
                self.check_settled(volume)
                self.assertEqual(differences(before, manifest(volume.root)), [])
            volume.close()
        self.assertGreater(killed, 0, "no round was killed before its end")

    # Killed again and again on one state: each round goes on where the last one was (case 151).
    def test_many_kills_on_one_state(self):
        numbers = random.Random(case.SEED + 1)
        master, before, used, seconds = self.master()
        volume = self.copy_of(master)
        for _ in range(12):
            self.kill_after(numbers.uniform(0, seconds / 2), volume.root)
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 0, run)
        self.assertEqual(volume.used_data(), used, run)
        self.check_settled(volume)
        self.assertEqual(differences(before, manifest(volume.root)), [])

    # Killed between scan and execution: the dry run has scanned, the run dies at once.
    def test_kill_between_scan_and_execution(self):
        master, before, used, _ = self.master()
        volume = self.copy_of(master)
        self.preview(volume)
        for delay in (0.01, 0.05, 0.1):
            self.kill_after(delay, volume.root)
        run = self.onefold(volume.root)
        self.assertEqual((run.code, run.totals["extents_scanned"]), (0, 0), run)
        self.assertEqual(volume.used_data(), used, run)
        self.assertEqual(differences(before, manifest(volume.root)), [])

    # What a killed run freed is unknown, so the sum of all runs is only a lower bound.
    def test_lifetime_after_a_kill(self):
        volume = self.volume(size="256M")
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        run = self.dedupe(volume, frees=MIB, settled=False)
        self.assertEqual(run.report["lifetime"], {"bytes_freed": MIB, "at_least": False})
        process = self.start(volume.root)
        process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:  # let it begin, then end it
            process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
            process.send_signal(signal.SIGSTOP)
            if os.path.exists(os.path.join(self.state, "lock")):
                break
        process.kill()
        process.communicate()
        run = self.onefold(volume.root)
        self.assertGreaterEqual(run.report["lifetime"]["bytes_freed"], MIB, run)


if __name__ == "__main__":
    case.main()
