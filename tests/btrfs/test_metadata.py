#!/usr/bin/env python3
"""Gain is net: moving references under many snapshots costs metadata."""

import case
from volume import KIB, MIB, command, pattern

SNAPSHOTS = 20


class MetadataTest(case.OnefoldTest):

    def pairs_under_snapshots(self, count, size, snapshots=SNAPSHOTS):
        volume = self.volume(size="2G")
        volume.subvolume("s")
        for number in range(count):
            data = pattern(number, size)
            for name in ("a", "b"):
                volume.write(f"s/{name}/{number}", data)
        volume.sync()
        for number in range(snapshots):
            volume.snapshot("s", f"snap{number}")
        return volume

    # 5,000 pairs of 8 KiB under 20 snapshots freed 41 MB and grew metadata by twice 45 MB when
    # folded blindly (case 87): the volume must not end larger.
    def test_small_pairs_under_twenty_snapshots(self):
        volume = self.pairs_under_snapshots(5000, 8 * KIB)
        data, metadata = volume.used_data(), volume.used_metadata()
        run = self.dedupe(volume, watch=("s", "snap0", "snap19"))
        grown = volume.used_metadata() - metadata
        freed = data - volume.used_data()
        self.assertLessEqual(grown, freed, run)
        left = 5000 * 8 * KIB - freed
        self.assertEqual(run.totals["pinned_by"].get("metadata", 0), left, run)

    # Larger files pay for their leaves many times over.
    def test_larger_pairs_under_twenty_snapshots(self):
        volume = self.pairs_under_snapshots(200, 128 * KIB)
        metadata = volume.used_metadata()
        run = self.dedupe(volume, frees=200 * 128 * KIB, shares=200 * 128 * KIB * (SNAPSHOTS + 1))
        grown = volume.used_metadata() - metadata
        self.assertLess(grown, 200 * 128 * KIB // 2, run)

    # Without snapshots nothing is copied: small files pay.
    def test_small_pairs_without_snapshots(self):
        volume = self.pairs_under_snapshots(2000, 4 * KIB, snapshots=0)
        metadata = volume.used_metadata()
        run = self.dedupe(volume, frees=2000 * 4 * KIB, pins=0)
        self.assertLess(volume.used_metadata() - metadata, MIB, run)

    # Few snapshots, middling files: whatever is decided, the volume does not end larger, and both
    # figures of the report are the filesystem's.
    def test_figures_of_metadata(self):
        volume = self.pairs_under_snapshots(500, 16 * KIB, snapshots=4)
        data, metadata = volume.used_data(), volume.used_metadata()
        run = self.onefold(volume.root)
        grown = volume.used_metadata() - metadata
        self.assertEqual(run.code, 0, run)
        self.assertEqual(run.totals["bytes_freed"], data - volume.used_data(), run)
        self.assertLessEqual(grown, data - volume.used_data(), run)
        self.assertAlmostEqual(run.totals["metadata_bytes_grown"], grown, delta=MIB)

    # What did not pay pays once the snapshots are gone.
    def test_snapshots_deleted_afterwards(self):
        volume = self.pairs_under_snapshots(300, 4 * KIB)
        self.dedupe(volume)
        for number in range(SNAPSHOTS):
            command("btrfs", "subvolume", "delete", volume.path(f"snap{number}"))
        command("btrfs", "subvolume", "sync", volume.root)
        self.dedupe(volume, pins=0)
        self.assertEqual(volume.used_data(), 300 * 4 * KIB)


class LittleSpaceTest(case.OnefoldTest):

    def fill(self, volume):
        """Writes until the filesystem says that it is full."""
        number = 0
        try:
            while True:
                volume.write(f"fill/{number}", pattern(number, MIB), sync=True)
                number += 1
        except OSError:
            volume.truncate(f"fill/{number}", 0)
        volume.sync()

    # Data space full, metadata not: this is when people dedupe (case 173).
    def test_full_volume(self):
        volume = self.volume(size="300M")
        for number in range(20):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(1000 + number, MIB))
        volume.sync()
        self.fill(volume)
        self.dedupe(volume, frees=20 * MIB)

    # The smallest volumes mkfs makes, data and metadata in one kind of chunk.
    def test_mixed_chunks(self):
        volume = self.volume(size="100M", mkfs=["--mixed"])
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        run = self.onefold(volume.root)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, MIB), run)
        self.assertTrue(volume.same_place("a", "b"))
        again = self.onefold(volume.root)
        self.assertEqual(again.totals["dedupe_requests"], 0, again)

    # Quota groups make sharing slow, not wrong: case 174.
    def test_quota(self):
        volume = self.volume()
        command("btrfs", "quota", "enable", volume.root)
        volume.subvolume("s")
        for number in range(50):
            for name in ("a", "b"):
                volume.write(f"s/{name}/{number}", pattern(number, 64 * KIB))
        volume.sync()
        volume.snapshot("s", "snap")
        self.dedupe(volume, frees=50 * 64 * KIB)
        command("btrfs", "quota", "rescan", "-w", volume.root, check=False)

    # A limit that is used up does not stop sharing, and nothing is written.
    def test_quota_limit_reached(self):
        volume = self.volume()
        command("btrfs", "quota", "enable", volume.root)
        volume.subvolume("s")
        for name in ("a", "b"):
            volume.write(f"s/{name}", pattern(1, 4 * MIB), sync=True)
        command("btrfs", "qgroup", "limit", str(8 * MIB + 64 * KIB), volume.path("s"))
        run = self.onefold(volume.root)
        self.assertIn(run.code, (0, 2), run)
        if run.code == 0:
            self.assertEqual(volume.used_data(), 4 * MIB)


if __name__ == "__main__":
    case.main()
