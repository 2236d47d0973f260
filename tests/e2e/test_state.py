#!/usr/bin/env python3
"""The state directory: private, locked, rebuilt when it is damaged, never somebody else's."""

import os
import pathlib
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from volume import KIB, MIB, command, pattern


class StateTest(case.OnefoldTest):

    def volume_with_pairs(self, count=50, size=16 * KIB):
        volume = self.volume(size="256M")
        for number in range(count):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, size))
        volume.sync()
        return volume

    def state_path(self, *names):
        return os.path.join(self.state, *names)

    def files(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, _, names in os.walk(folder) for name in names)

    # Names and hashes are nobody else's business: case 165.
    def test_modes(self):
        volume = self.volume_with_pairs()
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.dedupe(volume)
        self.assertEqual(os.stat(self.state).st_mode & 0o777, 0o700)
        self.assertTrue(os.path.isdir(self.state_path("index")))
        self.assertTrue(os.path.isdir(self.state_path("state")))

    # Deep, not existing yet.
    def test_made_with_its_parents(self):
        volume = self.volume_with_pairs(5)
        self.dedupe(volume, state=os.path.join(self.folder, "deep", "er", "state"))

    # A second run on the same state says who holds it: case 155.
    def test_second_run_on_one_state(self):
        volume = self.volume_with_pairs(3000, 8 * KIB)
        first = self.start("--json", volume.root)
        deadline = time.monotonic() + 20
        while not os.path.exists(self.state_path("lock")) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.05)
        first.send_signal(signal.SIGSTOP)
        self.assertIsNone(first.poll(), "the first run ended too soon")
        try:
            second = self.onefold(volume.root)
            dry = self.onefold("--dry-run", volume.root)
        finally:
            first.send_signal(signal.SIGCONT)
        for refused in (second, dry):
            self.assertEqual(refused.code, 1, refused)
            self.assertIn(str(first.pid), refused.stderr, refused)
        run = self.finish(first)
        self.assertEqual(run.code, 0, run)
        self.assertEqual(volume.used_data(), 3000 * 8 * KIB)

    # The lock of a process that is gone holds nobody up.
    def test_lock_of_a_killed_run(self):
        volume = self.volume_with_pairs()
        process = self.start(volume.root)
        time.sleep(0.05)
        process.kill()
        process.communicate()
        self.dedupe(volume)

    # The index is lost: scanned again, and nothing is done twice.
    def test_index_deleted(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, frees=50 * 16 * KIB)
        shutil.rmtree(self.state_path("index"))
        run = self.dedupe(volume, frees=0, requests=0)
        self.assertEqual(run.totals["extents_scanned"], 50, run)

    def test_state_deleted(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, frees=50 * 16 * KIB)
        shutil.rmtree(self.state)
        self.dedupe(volume, frees=0, requests=0)

    # An older copy of the index was put back: whatever it says, the result is right.
    def test_older_index_restored(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, frees=50 * 16 * KIB)
        saved = os.path.join(self.folder, "saved")
        shutil.copytree(self.state_path("index"), saved)
        for number in range(20):
            for name in ("c", "d"):
                volume.write(f"{name}/{number}", pattern(100 + number, 16 * KIB))
        self.dedupe(volume, frees=20 * 16 * KIB)
        for name in ("e", "f"):
            volume.write(name, pattern(500, 16 * KIB))
        shutil.rmtree(self.state_path("index"))
        shutil.copytree(saved, self.state_path("index"))
        self.dedupe(volume, frees=16 * KIB)

    # Damaged in any way: put aside under another name and rebuilt, never deleted (case 156).
    def test_damaged_index(self):
        numbers = random.Random(case.SEED)

        def cut(path):
            os.truncate(path, os.path.getsize(path) * 7 // 10)

        def scribble(path):
            with open(path, "r+b") as file:
                file.write(numbers.randbytes(min(os.path.getsize(path), 512)))

        def remove(path):
            os.unlink(path)

        for damage, names in ((cut, ("CURRENT", "MANIFEST")), (scribble, ("CURRENT", "MANIFEST")),
                              (remove, ("CURRENT", "MANIFEST"))):
            for name in names:
                with self.subTest(damage=damage.__name__, file=name):
                    volume = self.volume_with_pairs(20)
                    state = os.path.join(volume.folder, "state")
                    self.dedupe(volume, frees=20 * 16 * KIB, state=state)
                    index = os.path.join(state, "index")
                    hit = [os.path.join(index, entry) for entry in os.listdir(index)
                           if entry.startswith(name)]
                    self.assertTrue(hit, os.listdir(index))
                    for path in hit:
                        damage(path)
                    self.dedupe(volume, frees=0, requests=0, state=state)
                    aside = [entry for entry in os.listdir(state)
                             if entry.startswith("index.damaged-")]
                    self.assertEqual(len(aside), 1, os.listdir(state))

    # Bytes flipped in a table: noticed at the latest when they are read.
    def test_flipped_bytes_in_tables(self):
        volume = self.volume_with_pairs(2000, 4 * KIB)
        self.dedupe(volume)
        numbers = random.Random(case.SEED)
        tables = [name for name in self.files(self.state_path("index")) if name.endswith(".sst")]
        for name in tables:
            path = self.state_path("index", name)
            with open(path, "r+b") as file:
                for _ in range(8):
                    file.seek(numbers.randrange(os.path.getsize(path)))
                    file.write(b"\xa5")
        volume.write("new", pattern(7, 4 * KIB))
        used = volume.used_data()
        run = self.onefold(volume.root)
        if run.code == 0:
            self.assertEqual(volume.used_data(), used - 4 * KIB, run)
        else:  # said, and the next run is right
            self.assertEqual(run.code, 1, run)
            self.assertTrue(run.stderr.strip(), run)
            self.assertEqual(self.onefold(volume.root).code, 0)
        self.assertEqual(volume.used_data(), 2000 * 4 * KIB)

    # Somebody else's directory: refused, and not a byte of it is touched (case 156).
    def test_foreign_index(self):
        volume = self.volume_with_pairs(5)
        for content in ({"notes.txt": b"mine"}, {"CURRENT": b"MANIFEST-000001\n"}):
            with self.subTest(list(content)):
                state = os.path.join(volume.folder, f"state{len(content)}{list(content)[0]}")
                os.makedirs(os.path.join(state, "index"))
                for name, data in content.items():
                    with open(os.path.join(state, "index", name), "wb") as file:
                        file.write(data)
                run = self.onefold(volume.root, state=state)
                self.assertEqual((run.code, run.report["outcome"]), (1, "refused"), run)
                self.assertIn(os.path.join(state, "index"), run.stderr, run)
                self.assertEqual(sorted(os.listdir(os.path.join(state, "index"))), list(content))
                for name, data in content.items():
                    with open(os.path.join(state, "index", name), "rb") as file:
                        self.assertEqual(file.read(), data)

    # A file where the directory should be; a directory full of other things.
    def test_state_is_something_else(self):
        volume = self.volume_with_pairs(5)
        path = os.path.join(self.folder, "file")
        with open(path, "wb") as file:
            file.write(b"mine")
        run = self.onefold(volume.root, state=path)
        self.assertEqual(run.code, 1, run)
        self.assertIn(path, run.stderr, run)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"mine")

    # Written by a newer program.
    def test_newer_format(self):
        volume = self.volume_with_pairs(5)
        self.dedupe(volume)
        marker = self.state_path("index", "ONEFOLD_FORMAT")
        with open(marker, "w", encoding="ascii") as file:
            file.write("onefold index 999\n")
        before = self.files(self.state)
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 1, run)
        self.assertIn("index", run.stderr, run)
        self.assertEqual(self.files(self.state), before)

    # No room below the index: said with its place, and the data is safe (case 158).
    def test_full_disk_below_the_state(self):
        volume = self.volume_with_pairs(3000, 4 * KIB)
        small = self.mount("tmpfs", os.path.join(self.folder, "small"), "-t", "tmpfs", "-o",
                           "size=160k")
        run = self.onefold(volume.root, state=os.path.join(small, "state"))
        self.assertIn(run.code, (1, 2), run)
        self.assertIn(small, run.stderr + run.stdout, run)
        for name in ("a/7", "b/7"):
            self.assertEqual(volume.read(name), pattern(7, 4 * KIB))

    # A state directory that cannot be written.
    def test_readonly_state(self):
        volume = self.volume_with_pairs(5)
        place = self.mount("tmpfs", os.path.join(self.folder, "ro"), "-t", "tmpfs", "-o", "ro")
        run = self.onefold(volume.root, state=os.path.join(place, "state"))
        self.assertEqual(run.code, 1, run)
        self.assertIn(place, run.stderr, run)


class ReplayTest(case.OnefoldTest):

    def volume_with_pairs(self):
        volume = self.volume(size="256M")
        for number, folder in enumerate(("x", "y")):
            for name in ("a", "b"):
                volume.write(f"{folder}/{name}", pattern(number, MIB), sync=True)
                volume.write(f"{folder}/{name}.iso", pattern(10 + number, MIB), sync=True)
        return volume

    # Without its log the database is one of an earlier run, with other paths and excludes.
    def test_lost_log(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume)
        self.dedupe(volume, "--exclude=*.iso", paths=[volume.path("x")])
        state = os.path.join(self.state, "state")
        logs = [os.path.join(state, name) for name in os.listdir(state) if name.endswith(".log")]
        self.assertTrue(logs, os.listdir(state))
        for name in ("x/c", "x/d.iso", "y/c"):
            volume.write(name, pattern(0, MIB), sync=True)
        used = volume.used_data()
        for damage in ("cut", "gone"):
            with self.subTest(damage):
                if damage == "cut":
                    os.truncate(logs[-1], 0)
                else:
                    os.unlink(logs[-1])
                before = sorted(os.listdir(state))
                for paths in ([], [volume.path("x")]):
                    run = self.onefold(*paths)
                    self.assertEqual((run.code, run.report["outcome"]), (1, "refused"), run)
                    self.assertIn(state, run.stderr, run)
                self.assertEqual(sorted(os.listdir(state)), before)
                self.assertEqual(volume.used_data(), used)

    # Without a path the stored paths and options run again: cases 195, 209.
    def test_stored_paths_and_options(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, "--exclude=*.iso", paths=[volume.path("x")], frees=MIB)
        for name in ("x/c", "x/d.iso", "y/c"):
            volume.write(name, pattern(0, MIB), sync=True)
        self.dedupe(volume, paths=[], frees=MIB)

    # Also from another folder, when the path was relative.
    def test_relative_path_from_elsewhere(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, "--exclude=*.iso", paths=["x"], frees=MIB, cwd=volume.root)
        volume.write("x/c", pattern(0, MIB), sync=True)
        self.dedupe(volume, paths=[], frees=MIB, cwd="/")

    # A dry run is no wish for the future: case 129.
    def test_dry_run_is_not_stored(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, "--exclude=*.iso", paths=[volume.path("x")], frees=MIB)
        self.preview(volume)
        self.dedupe(volume, paths=[], frees=0, requests=0)

    # A refused run does not replace what was stored.
    def test_refused_run_is_not_stored(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, "--exclude=*.iso", paths=[volume.path("x")], frees=MIB)
        run = self.onefold("--exclude=[", volume.root)
        self.assertEqual(run.code, 1, run)
        self.dedupe(volume, paths=[], frees=0, requests=0)

    # Two filesystems, replayed together; one of them is gone: exit 2 and the rest is done.
    def test_one_volume_is_gone(self):
        first, second = self.volume_with_pairs(), self.volume_with_pairs()
        run = self.onefold(first.root, second.root)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, 8 * MIB), run)
        second.unmount()
        first.write("new", pattern(0, MIB), sync=True)
        self.dedupe(first, paths=[], code=2, frees=MIB)
        second.mount()
        run = self.onefold()
        self.assertEqual((run.code, run.totals["dedupe_requests"]), (0, 0), run)
        self.assertEqual(run.totals["extents_scanned"], 0, "what was known is still known")
        command("btrfs", "filesystem", "sync", second.root)

    # Figures of all runs together: case 132.
    def test_lifetime(self):
        volume = self.volume_with_pairs()
        self.dedupe(volume, paths=[volume.path("x")], frees=2 * MIB)
        run = self.dedupe(volume, frees=2 * MIB)
        self.assertEqual(run.report["lifetime"], {"bytes_freed": 4 * MIB, "at_least": False}, run)


if __name__ == "__main__":
    case.main()
