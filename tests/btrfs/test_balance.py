#!/usr/bin/env python3
"""Balance, resize, device replacement: extents get other addresses and are still the same data."""

import subprocess

import case
from manifest import differences, manifest
from volume import KIB, MIB, command, pattern


class BalanceTest(case.OnefoldTest):

    def settled_volume(self):
        volume = self.volume(size="1G")
        for number in range(100):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 64 * KIB + number))
        self.dedupe(volume, frees=100 * 68 * KIB - 4 * KIB)
        return volume

    # Every extent has a new address and generation, and nothing is left to do: case 102.
    def test_balance_between_runs(self):
        volume = self.settled_volume()
        command("btrfs", "balance", "start", "--full-balance", volume.root)
        self.dedupe(volume, frees=0, shares=0, requests=0)

    def test_metadata_balance_between_runs(self):
        volume = self.settled_volume()
        command("btrfs", "balance", "start", "-f", "-mconvert=single", "-sconvert=single",
                volume.root)
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertLess(run.totals["extents_scanned"], 100, "data did not move")

    # Balanced between scan and run.
    def test_balance_after_the_dry_run(self):
        volume = self.volume()
        for number in range(20):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 64 * KIB), sync=True)
        self.preview(volume)
        command("btrfs", "balance", "start", "--full-balance", volume.root)
        self.dedupe(volume, frees=20 * 64 * KIB)

    # And new duplicates of what moved are found.
    def test_new_copies_after_a_balance(self):
        volume = self.settled_volume()
        command("btrfs", "balance", "start", "-d", volume.root)
        volume.write("new", pattern(7, 64 * KIB + 7), sync=True)
        self.dedupe(volume, frees=68 * KIB, requests=1)

    def test_balance_during_the_run(self):
        volume = self.volume(size="1G")
        for number in range(800):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, 64 * KIB))
        volume.sync()
        before = manifest(volume.root)
        balance = subprocess.Popen(["btrfs", "balance", "start", "-d", volume.root],
                                   stdout=subprocess.DEVNULL)
        try:
            run = self.onefold(volume.root)
        finally:
            balance.wait()
        self.assertEqual(run.code, 0, run)
        self.assertEqual(differences(before, manifest(volume.root)), [])
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), 800 * 64 * KIB)

    # A scrub in parallel and a filesystem that is found in order afterwards (case 12).
    def test_filesystem_is_in_order_afterwards(self):
        volume = self.settled_volume()
        volume.subvolume("s")
        for name in ("a", "b"):
            volume.write(f"s/{name}", pattern(7777, MIB), sync=True)
        volume.snapshot("s", "snap")
        self.dedupe(volume, frees=MIB)
        self.assertIn("no errors found",
                      command("btrfs", "scrub", "start", "-B", volume.root).lower())
        loop = volume.loop
        command("umount", volume.root)
        command("btrfs", "check", "--readonly", loop)
        command("mount", "-o", volume.options, loop, volume.root)


if __name__ == "__main__":
    case.main()
