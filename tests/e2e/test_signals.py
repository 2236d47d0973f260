#!/usr/bin/env python3
"""SIGINT, SIGTERM and --max-time: the run ends soon, what was done counts, the next one goes on."""

import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from manifest import differences, manifest
from volume import KIB, Volume, command, pattern

PAIRS = 10_000
SIZE = 8 * KIB
# A second, one commit, and what a loaded machine with an instrumented program may add.
SOON_SECONDS = 4.0 * case.SLOWNESS


class StopTest(case.OnefoldTest):

    @classmethod
    def setUpClass(cls):
        """Writes once what all tests begin with: enough work for some seconds."""
        super().setUpClass()
        volume = Volume(cls.class_folder(), size="1G")
        try:
            for number in range(PAIRS):
                data = pattern(number, SIZE)
                for name in ("a", "b"):
                    volume.write(f"{name}/{number % 100}/{number}", data)
            volume.unmount()
            cls.master = os.path.join(cls.class_folder(), "master.img")
            os.rename(volume.image, cls.master)
        finally:
            volume.close()

    def volume_with_work(self):
        volume = self.copy_of(self.master)
        command("sysctl", "-q", "vm.drop_caches=3", check=False)
        return volume

    def wait_until_deduping(self, volume, process):
        """Until any of some files was moved."""
        numbers = random.Random(case.SEED)
        names = [f"{side}/{number % 100}/{number}" for side in ("a", "b")
                 for number in numbers.sample(range(PAIRS), 100)]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if any(mapping.shared for name in names for mapping in volume.mappings(name)):
                self.assertIsNone(process.poll(), "the run ended before it could be stopped")
                return
            self.assertIsNone(process.poll(), "the run ended without any sharing")
        self.fail("nothing was shared for a minute")

    def check_stopped(self, number, code):
        volume = self.volume_with_work()
        before, used = manifest(volume.root), volume.used_data()
        process = self.start("--json", "--threads=1", volume.root)
        self.wait_until_deduping(volume, process)
        process.send_signal(number)
        run = self.finish(process)
        self.assertEqual(run.code, code, run)
        self.assertLess(run.seconds, SOON_SECONDS, run)
        self.check_report(run)
        self.assertEqual(run.report["outcome"], "interrupted", run)
        freed = used - volume.used_data()
        self.assertEqual(run.totals["bytes_freed"], freed, run)
        self.assertGreater(freed, 0, run)
        self.assertLess(freed, PAIRS * SIZE, run)
        self.assertEqual(differences(before, manifest(volume.root)), [])
        # What is left is done by the next run, without a new scan.
        rest = self.dedupe(volume, frees=PAIRS * SIZE - freed)
        self.assertLess(rest.totals["extents_scanned"], PAIRS, rest)

    # Cases 31, 52.
    def test_interrupt(self):
        self.check_stopped(signal.SIGINT, 130)

    def test_terminate(self):
        self.check_stopped(signal.SIGTERM, 143)

    # At any moment, the first ones included: soon, no damage, and nothing is said to be done.
    def test_at_any_moment(self):
        volume = self.volume_with_work()
        used = volume.used_data()
        before = manifest(volume.root)
        for delay in (0.01, 0.05, 0.1, 0.2, 0.4):
            process = self.start("--json", volume.root)
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            run = self.finish(process)
            self.assertIn(run.code, (143, -signal.SIGTERM, 0), run)
            self.assertLess(run.seconds, SOON_SECONDS, run)
            now = volume.used_data()
            if run.report:
                self.assertEqual(run.totals["bytes_freed"] or 0, used - now, run)
            used = now
        self.assertEqual(differences(before, manifest(volume.root)), [])
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), PAIRS * SIZE)

    # A second signal ends it at once, and does no harm.
    def test_second_signal(self):
        volume = self.volume_with_work()
        process = self.start("--json", volume.root)
        self.wait_until_deduping(volume, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertIn(run.code, (130, -signal.SIGINT), run)
        self.assertLess(run.seconds, 2.0 * case.SLOWNESS, run)
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), PAIRS * SIZE)

    # Ended cleanly by its own limit: that is success, biggest gains first (case 202).
    def test_max_time(self):
        volume = self.volume_with_work()
        for name in ("a", "b"):
            volume.write(f"{name}/large", pattern(PAIRS + 1, 8192 * KIB), sync=True)
        used = volume.used_data()
        freed = 0
        for _ in range(10):  # on a slow machine a second may be over before anything was shared
            process = self.start("--json", "--threads=1", "--max-time=1s", volume.root)
            run = self.finish(process)
            self.assertEqual((run.code, run.report["outcome"]), (0, "time_limit"), run)
            self.assertLess(run.seconds, 1 + SOON_SECONDS, run)
            freed = used - volume.used_data()
            self.assertEqual(run.totals["bytes_freed"], freed, run)
            if freed > 0:
                break
        self.assertTrue(volume.same_place("a/large", "b/large"), "the largest comes first")
        self.dedupe(volume, frees=PAIRS * SIZE + 8192 * KIB - freed)

    # A limit that is not reached changes nothing.
    def test_max_time_not_reached(self):
        volume = self.volume(size="256M")
        for name in ("a", "b"):
            volume.write(name, pattern(1, SIZE))
        run = self.dedupe(volume, "--max-time=1h", frees=SIZE)
        self.assertEqual(run.report["outcome"], "completed")

    # Stopped by the shell and continued: as if nothing had been.
    def test_suspended_for_a_while(self):
        volume = self.volume_with_work()
        process = self.start("--json", volume.root)
        self.wait_until_deduping(volume, process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        for number in range(20):  # meanwhile files change
            volume.overwrite(f"b/{number}/{number}", 0, b"!" * 100, sync=False)
        process.send_signal(signal.SIGCONT)
        run = self.finish(process)
        self.assertEqual(run.code, 0, run)
        for number in range(20):
            self.assertEqual(volume.read(f"b/{number}/{number}"),
                             b"!" * 100 + pattern(number, SIZE)[100:])
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), PAIRS * SIZE + 20 * 4 * KIB)

    # The terminal goes away: the run must not end half-way without a word in the state.
    def test_hang_up(self):
        volume = self.volume_with_work()
        process = self.start("--json", volume.root)
        self.wait_until_deduping(volume, process)
        os.kill(process.pid, signal.SIGHUP)
        run = self.finish(process)
        self.assertIn(run.code, (0, 129, -signal.SIGHUP), run)
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), PAIRS * SIZE)


if __name__ == "__main__":
    case.main()
