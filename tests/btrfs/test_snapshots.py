#!/usr/bin/env python3
"""Snapshots and subvolumes: all that refers to an extent has to move, or nothing is freed."""

import os
import subprocess
import time

import case
from manifest import differences, manifest
from volume import KIB, MIB, command, pattern


class SnapshotTest(case.OnefoldTest):

    def subvolume_with_pair(self, size=4 * MIB):
        volume = self.volume()
        volume.subvolume("s")
        for name in ("a", "b"):
            volume.write(f"s/{name}", pattern(1, size), sync=True)
        return volume

    # Taken before the first run and in scope: its references move too (case 86).
    def test_snapshot_in_scope(self):
        volume = self.subvolume_with_pair()
        volume.snapshot("s", "snap")
        self.dedupe(volume, frees=4 * MIB, shares=8 * MIB, pins=0)
        self.assertTrue(volume.is_readonly("snap"))
        self.assertTrue(volume.same_place("s/a", "s/b", "snap/a", "snap/b"))

    # Outside the scope it pins; with the same state, more scope frees it (case 86).
    def test_snapshot_outside_the_scope_pins(self):
        volume = self.subvolume_with_pair()
        volume.snapshot("s", "snap")
        run = self.dedupe(volume, paths=[volume.path("s")], frees=0, shares=0, requests=0,
                          pins=4 * MIB)
        self.assertEqual(run.totals["pinned_by"], {"snapshot": 4 * MIB}, run)
        run = self.dedupe(volume, paths=[volume.path("s"), volume.path("snap")], frees=4 * MIB,
                          pins=0)
        self.assertEqual(run.totals["extents_scanned"], 0, "scanned is not settled")

    # The pinning snapshot is deleted: the next run frees it without scanning anything again.
    def test_pinning_snapshot_is_deleted(self):
        volume = self.subvolume_with_pair()
        volume.snapshot("s", "snap")
        self.dedupe(volume, paths=[volume.path("s")], frees=0, pins=4 * MIB)
        volume.delete_subvolume("snap")
        run = self.dedupe(volume, paths=[volume.path("s")], frees=4 * MIB, shares=4 * MIB, pins=0)
        self.assertEqual(run.totals["extents_scanned"], 0, run)

    # One of two pinning snapshots is deleted: still pinned, and not asked about twice.
    def test_one_of_two_pinning_snapshots_is_deleted(self):
        volume = self.subvolume_with_pair()
        for name in ("snap1", "snap2"):
            volume.snapshot("s", name)
        self.dedupe(volume, paths=[volume.path("s")], frees=0, pins=4 * MIB)
        volume.delete_subvolume("snap1")
        self.dedupe(volume, paths=[volume.path("s")], frees=0, requests=0, pins=4 * MIB)

    # Taken after the scan, before the run: found when references are looked up.
    def test_snapshot_taken_after_the_dry_run(self):
        volume = self.subvolume_with_pair()
        self.preview(volume)
        volume.snapshot("s", "snap")
        self.dedupe(volume, frees=4 * MIB, shares=8 * MIB)

    # Independent copies in read-only snapshots: the flag is no obstacle and stays (16, 17, 47).
    def test_independent_copies_in_readonly_snapshots(self):
        volume = self.volume()
        for number in range(2):
            volume.subvolume(f"s{number}")
            volume.write(f"s{number}/f", pattern(1, 100 * MIB), sync=True)
            volume.snapshot(f"s{number}", f"snap{number}")
            volume.delete_subvolume(f"s{number}")
        self.dedupe(volume, frees=100 * MIB, shares=100 * MIB)
        for number in range(2):
            self.assertTrue(volume.is_readonly(f"snap{number}"))

    # A writable file moves onto the snapshot's extent, not the other way round (cases 85, 96).
    def test_the_copy_in_the_snapshot_stays(self):
        for order in ("live first", "snapshot first"):
            with self.subTest(order):
                volume = self.volume()
                volume.subvolume("s")
                if order == "live first":
                    volume.write("live", pattern(1, MIB), sync=True)
                volume.write("s/f", pattern(1, MIB), sync=True)
                volume.snapshot("s", "snap")
                volume.delete_subvolume("s")
                volume.write("live", pattern(1, MIB), sync=True)
                places = volume.places("snap/f")
                self.dedupe(volume, frees=MIB, shares=MIB, state=volume.folder + "/state")
                self.assertEqual(volume.places("snap/f"), places)

    # Same files, live and in snapshots of other days: only the new data is new (cases 82, 95).
    def test_twenty_snapshots_cost_no_scan(self):
        volume = self.volume()
        volume.subvolume("s")
        for number in range(50):
            volume.write(f"s/{number}", pattern(number, 64 * KIB))
        volume.sync()
        for number in range(20):
            volume.snapshot("s", f"snap{number}")
        run = self.dedupe(volume, frees=0, requests=0, pins=0)
        self.assertEqual(run.totals["extents_scanned"], 50, run)
        self.assertEqual(run.totals["file_bytes_read"], 0, run)

    # A file that differs between live and snapshot.
    def test_changed_since_the_snapshot(self):
        volume = self.subvolume_with_pair(MIB)
        volume.snapshot("s", "snap")
        volume.overwrite("s/b", 0, pattern(2, MIB))
        self.dedupe(volume, frees=MIB, shares=MIB)
        self.assertTrue(volume.same_place("s/a", "snap/a", "snap/b"))

    # Both files written again in part after the snapshot: old and new references (design 3).
    def test_partly_changed_since_the_snapshot(self):
        volume = self.subvolume_with_pair(MIB)
        volume.snapshot("s", "snap")
        volume.overwrite("s/b", 256 * KIB, pattern(2, 128 * KIB))
        # The overwritten file refers to its extent in more pieces: that extent stays.
        self.dedupe(volume, frees=MIB, shares=2 * MIB)

    # --skip-readonly-subvolumes: they are neither changed nor used (case 95).
    def test_skip_readonly_subvolumes(self):
        volume = self.subvolume_with_pair()
        volume.snapshot("s", "snap")
        volume.write("other", pattern(2, MIB), sync=True)
        volume.subvolume("t")
        volume.write("t/other", pattern(2, MIB), sync=True)
        command("btrfs", "property", "set", volume.path("t"), "ro", "true")
        run = self.dedupe(volume, "--skip-readonly-subvolumes", frees=0, shares=0, requests=0)
        self.assertEqual(run.totals["pinned_by"].get("readonly_subvolume"), 4 * MIB, run)
        self.dedupe(volume, frees=5 * MIB)

    # Nested subvolumes belong to the scope: case 92.
    def test_nested_subvolumes(self):
        volume = self.volume()
        volume.subvolume("one")
        volume.subvolume("one/two")
        volume.folder_at("one/two/folder")
        volume.subvolume("one/two/folder/three")
        for folder in ("", "one/", "one/two/", "one/two/folder/three/"):
            volume.write(f"{folder}f", pattern(1, MIB), sync=True)
        self.dedupe(volume, paths=[volume.path("one")], frees=2 * MIB)
        self.dedupe(volume, frees=MIB)

    # A subvolume that is no child of the given path is outside, although it has the same files.
    def test_sibling_subvolume_is_outside(self):
        volume = self.volume()
        for name in ("in", "out"):
            volume.subvolume(name)
            volume.write(f"{name}/f", pattern(1, MIB), sync=True)
        self.dedupe(volume, paths=[volume.path("in")], frees=0, shares=0, requests=0)


class SubvolumeLifeTest(case.OnefoldTest):

    # Sending afterwards works, incremental too; ids of received subvolumes stay (cases 97, 98).
    def test_send_after_a_run(self):
        volume = self.volume()
        volume.subvolume("s")
        for name in ("a", "b"):
            volume.write(f"s/{name}", pattern(1, MIB), sync=True)
        volume.snapshot("s", "first")
        uuids = command("btrfs", "subvolume", "show", volume.path("first")).splitlines()[2:5]
        self.dedupe(volume, frees=MIB)
        volume.write("s/c", pattern(2, MIB), sync=True)
        volume.snapshot("s", "second")
        self.assertEqual(
            uuids, command("btrfs", "subvolume", "show", volume.path("first")).splitlines()[2:5])
        target = self.volume()
        for arguments in (["first"], ["-p", volume.path("first"), "second"]):
            stream = os.path.join(self.folder, "stream")
            command("btrfs", "send", "-f", stream, *arguments[:-1], volume.path(arguments[-1]))
            command("btrfs", "receive", "-f", stream, target.root)
        for name in ("first", "second"):
            sent, received = manifest(volume.path(name)), manifest(target.path(name))
            self.assertEqual({path: entry.sha256 for path, entry in sent.items()},
                             {path: entry.sha256 for path, entry in received.items()})
        self.dedupe(target)

    # While a snapshot is being sent the kernel answers EAGAIN: retried with a bound, then left for
    # the next run (case 28).
    def test_snapshots_that_are_being_sent(self):
        volume = self.volume()
        for number in range(2):
            volume.subvolume(f"s{number}")
            volume.write(f"s{number}/f", pattern(1, 4 * MIB), sync=True)
            volume.snapshot(f"s{number}", f"snap{number}")
            volume.delete_subvolume(f"s{number}")
        senders = []
        for number in range(2):  # nobody reads the pipes, so the sends wait
            sender = subprocess.Popen(["btrfs", "send", "-q", volume.path(f"snap{number}")],
                                      stdout=subprocess.PIPE)
            self.addCleanup(sender.stdout.close)
            self.addCleanup(sender.wait)
            self.addCleanup(sender.kill)
            senders.append(sender)
        time.sleep(0.5)
        before = manifest(volume.root)
        run = self.onefold(volume.root)
        self.assertIn(run.code, (0, 2), run)
        self.assertEqual(run.totals["bytes_freed"], 0, run)
        self.assertLess(run.seconds, 60 * case.SLOWNESS, "EAGAIN is retried with a bound")
        self.assertEqual(differences(before, manifest(volume.root)), [])
        for sender in senders:
            sender.kill()
            sender.wait()
        self.dedupe(volume, frees=4 * MIB)

    # A subvolume that vanishes during the run is no error: case 100.
    def test_subvolume_deleted_during_the_run(self):
        volume = self.volume(size="1G")
        for number in range(6):
            volume.subvolume(f"s{number}")
            for file in range(300):
                volume.write(f"s{number}/{file}", pattern(file, 64 * KIB))
        volume.sync()
        command("sysctl", "-q", "vm.drop_caches=3", check=False)
        process = self.start("--json", volume.root)
        for number in (1, 3, 5):
            time.sleep(0.15)
            command("btrfs", "subvolume", "delete", volume.path(f"s{number}"))
        run = self.finish(process)
        self.assertEqual(run.code, 0, run)
        command("btrfs", "subvolume", "sync", volume.root)
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), 300 * 64 * KIB)

    # A subvolume deleted between scan and run, its space not cleaned up yet.
    def test_subvolume_deleted_after_the_dry_run(self):
        volume = self.volume()
        for number in range(3):
            volume.subvolume(f"s{number}")
            volume.write(f"s{number}/f", pattern(1, MIB), sync=True)
        self.preview(volume)
        command("btrfs", "subvolume", "delete", volume.path("s1"))
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 0, run)
        command("btrfs", "subvolume", "sync", volume.root)
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), MIB)

    # The default subvolume is another one than the top: what is mounted is what is in scope.
    def test_mounted_subvolume(self):
        volume = self.volume()
        volume.subvolume("@home")
        for name in ("a", "@home/a", "@home/b"):
            volume.write(name, pattern(1, MIB), sync=True)
        home = self.mount(volume.loop, os.path.join(self.folder, "home"), "-t", "btrfs", "-o",
                          "subvol=@home,strictatime")
        places = volume.places("a")
        run = self.dedupe(volume, paths=[home], frees=MIB, shares=MIB)
        self.assertEqual(volume.places("a"), places, run)


if __name__ == "__main__":
    case.main()
