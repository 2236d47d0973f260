#!/usr/bin/env python3
"""What lies below the given paths, all of it and nothing else."""

import os
import subprocess

import case
from manifest import differences, layout, manifest
from volume import KIB, MIB, command, pattern


class OutsideTest(case.OnefoldTest):

    # Outside files are neither changed nor used as a source.
    def test_copy_outside_is_no_source(self):
        volume = self.volume()
        volume.write("in/a", pattern(1, MIB), sync=True)
        volume.write("out/a", pattern(1, MIB), sync=True)
        before = layout(volume.root)
        self.dedupe(volume, paths=[volume.path("in")], frees=0, shares=0, requests=0)
        self.assert_untouched(volume, before, before)

    # Two inside, one outside: the pair inside is folded.
    def test_pair_inside_and_copy_outside(self):
        volume = self.volume()
        for name in ("out/a", "in/a", "in/b", "out/b"):
            volume.write(name, pattern(1, MIB), sync=True)
        before = layout(volume.root)
        self.dedupe(volume, paths=[volume.path("in")], frees=MIB, shares=MIB)
        self.assert_untouched(volume, ["out/a", "out/b"], before)

    # A reflink outside holds an extent: the other one of the pair goes.
    def test_the_extent_held_outside_stays(self):
        for held in ("a", "b"):
            with self.subTest(held):
                volume = self.volume()
                for name in ("in/a", "in/b"):
                    volume.write(name, pattern(1, MIB), sync=True)
                volume.folder_at("out")
                volume.reflink(f"in/{held}", "out/f")
                places = volume.places("out/f")
                self.dedupe(volume, paths=[volume.path("in")], frees=MIB, shares=MIB,
                            state=volume.folder + "/state")
                self.assertEqual(volume.places("out/f"), places)

    # Both held outside: nothing can be freed, and who holds it is told.
    def test_both_held_outside(self):
        volume = self.volume()
        volume.folder_at("out")
        for name in ("a", "b"):
            volume.write(f"in/{name}", pattern(1, MIB), sync=True)
            volume.reflink(f"in/{name}", f"out/{name}")
        run = self.dedupe(volume, paths=[volume.path("in")], frees=0, shares=0, requests=0,
                          pins=MIB)
        self.assertEqual(run.totals["pinned_by"], {"outside_files": MIB}, run)
        self.dedupe(volume, frees=MIB, shares=2 * MIB)

    # Any link inside counts: the inode is in scope through it.
    def test_hard_link_into_the_scope(self):
        volume = self.volume()
        volume.folder_at("in")
        for name in ("a", "b"):
            volume.write(f"out/{name}", pattern(1, MIB), sync=True)
            volume.link(f"out/{name}", f"in/{name}")
        self.dedupe(volume, paths=[volume.path("in")], frees=MIB)

    # Path a, then b, then both, on one state: each time what is left.
    def test_growing_scope_on_one_state(self):
        volume = self.volume()
        for folder in ("a", "b"):
            for name in ("1", "2"):
                volume.write(f"{folder}/{name}", pattern(1, MIB), sync=True)
        self.dedupe(volume, paths=[volume.path("a")], frees=MIB)
        run = self.dedupe(volume, paths=[volume.path("b")], frees=MIB)
        self.assertEqual(run.totals["extents_scanned"], 0, run)
        self.dedupe(volume, paths=[volume.path("a"), volume.path("b")], frees=MIB)

    # Moved into the scope between two runs.
    def test_moved_into_the_scope(self):
        volume = self.volume()
        volume.write("in/a", pattern(1, MIB), sync=True)
        volume.write("out/a", pattern(1, MIB), sync=True)
        self.dedupe(volume, paths=[volume.path("in")], frees=0)
        os.rename(volume.path("out/a"), volume.path("in/b"))
        run = self.onefold("--full", volume.path("in"))
        self.assertEqual(run.totals["bytes_freed"], MIB, run)

    # A single file as a path.
    def test_files_as_paths(self):
        volume = self.volume()
        for name in ("a", "b", "c"):
            volume.write(name, pattern(1, MIB), sync=True)
        places = volume.places("c")
        used = volume.used_data()
        run = self.onefold(volume.path("a"), volume.path("b"))
        if run.code == 1:
            self.assertEqual(volume.used_data(), used, run)
            self.assertRegex(run.stderr, "director|folder", "say what a path has to be")
        else:
            self.assertEqual(run.totals["bytes_freed"], MIB, run)
            self.assertEqual(volume.places("c"), places)


class PathTest(case.OnefoldTest):

    def pairs(self, volume):
        for folder in ("x", "y/z"):
            for name in ("a", "b"):
                volume.write(f"{folder}/{name}", pattern(len(folder), MIB), sync=True)

    # Given twice, nested in another one, with slashes and dots.
    def test_overlapping_paths(self):
        volume = self.volume()
        self.pairs(volume)
        root = volume.root
        paths = [root, root + "//", root + "/x/../y", root + "/y/z/.", root]
        run = self.dedupe(volume, paths=paths, frees=2 * MIB, shares=2 * MIB)
        self.assertEqual(len(run.report["volumes"]), 1, run)

    def test_relative_path(self):
        volume = self.volume()
        self.pairs(volume)
        self.dedupe(volume, paths=["x"], frees=MIB, cwd=volume.root)
        self.dedupe(volume, paths=["."], frees=MIB, cwd=volume.root)

    # A symlink given as a path is resolved once; one inside is not followed (case 123).
    def test_symlinks(self):
        volume = self.volume()
        self.pairs(volume)
        os.symlink(volume.path("x"), os.path.join(self.folder, "link"))
        os.symlink("../y", volume.path("x/inside"))
        self.dedupe(volume, paths=[os.path.join(self.folder, "link")], frees=MIB, shares=MIB)

    # One filesystem at two places is one volume: case 21.
    def test_mounted_twice(self):
        volume = self.volume()
        self.pairs(volume)
        second = self.mount(volume.loop, os.path.join(self.folder, "second"), "-t", "btrfs",
                            "-o", "strictatime")
        run = self.dedupe(volume, paths=[volume.path("x"), second + "/y"], frees=2 * MIB)
        self.assertEqual(len(run.report["volumes"]), 1, run)

    # A pair split over two mounts.
    def test_pair_over_two_mounts(self):
        volume = self.volume()
        volume.write("x/a", pattern(1, MIB), sync=True)
        volume.write("y/b", pattern(1, MIB), sync=True)
        second = self.mount(volume.loop, os.path.join(self.folder, "second"), "-t", "btrfs",
                            "-o", "strictatime")
        self.dedupe(volume, paths=[volume.path("x"), second + "/y"], frees=MIB)

    def test_bind_mount(self):
        volume = self.volume()
        self.pairs(volume)
        bound = self.bind(volume.path("x"), os.path.join(self.folder, "bound"))
        self.dedupe(volume, paths=[bound], frees=MIB)

    # Two filesystems in one run: one object each, never grouped together (cases 7, 93).
    def test_two_filesystems(self):
        first, second = self.volume(), self.volume()
        for volume, seed in ((first, 1), (second, 1)):
            for name in ("a", "b"):
                volume.write(name, pattern(seed, MIB), sync=True)
        run = self.onefold(first.root, second.root)
        self.assertEqual(run.code, 0, run)
        self.check_report(run)
        self.assertEqual([v["bytes_freed"] for v in run.report["volumes"]], [MIB, MIB], run)
        self.assertEqual((first.used_data(), second.used_data()), (MIB, MIB))
        again = self.onefold(first.root, second.root)
        self.assertEqual(again.totals["dedupe_requests"], 0, again)


class MountTest(case.OnefoldTest):

    # Other filesystems mounted below are left alone and counted: case 208.
    def test_foreign_mounts_below(self):
        volume, other = self.volume(), self.volume()
        for target in (volume, other):
            for name in ("a", "b"):
                target.write(name, pattern(1, MIB), sync=True)
        volume.folder_at("memory")
        volume.folder_at("other")
        self.mount("tmpfs", volume.path("memory"), "-t", "tmpfs")
        self.bind(other.root, volume.path("other"))
        before = layout(other.root)
        run = self.dedupe(volume, frees=MIB)
        self.assertEqual(len(run.report["volumes"]), 1, run)
        self.assertEqual(layout(other.root), before)
        self.assertEqual(run.report["foreign_mounts"], 2, run)

    # Files hidden below a mount point belong to the scope or do not; they must not be harmed, and a
    # path through the other filesystem must not reach them by accident.
    def test_files_hidden_by_a_mount(self):
        volume = self.volume()
        for name in ("a", "below/b"):
            volume.write(name, pattern(1, MIB), sync=True)
        before = manifest(volume.root)
        self.mount("tmpfs", volume.path("below"), "-t", "tmpfs")
        run = self.onefold(volume.root)
        self.assertEqual(run.code, 0, run)
        command("umount", volume.path("below"))
        self.assertEqual(differences(before, manifest(volume.root)), [])

    # A mount of the same filesystem below is no foreign one.
    def test_own_subvolume_mounted_below(self):
        volume = self.volume()
        volume.subvolume("s")
        volume.folder_at("here")
        for name in ("a", "s/b"):
            volume.write(name, pattern(1, MIB), sync=True)
        self.mount(volume.loop, volume.path("here"), "-t", "btrfs", "-o", "subvol=s,strictatime")
        run = self.onefold(volume.root)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, MIB), run)

    # The mount decides: EROFS although the subvolume could be written (case 16).
    def test_readonly_bind_mount(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        bound = self.bind(volume.root, os.path.join(self.folder, "ro"), readonly=True)
        before = layout(volume.root)
        run = self.onefold(bound)
        self.assertIn(run.code, (1, 2), run)
        self.assertIn("read-only", run.stderr + run.stdout, run)
        self.assertIn(volume.root, run.stderr + run.stdout, "name a path that can be written")
        self.assertEqual(layout(volume.root), before)

    # Together with one that can be written: the rest is done, exit 2.
    def test_readonly_and_writable(self):
        readonly, writable = self.volume(), self.volume()
        for volume in (readonly, writable):
            for name in ("a", "b"):
                volume.write(name, pattern(1, MIB), sync=True)
        command("mount", "-o", "remount,ro", readonly.root)
        run = self.dedupe(writable, paths=[readonly.root, writable.root], code=2, frees=MIB)
        self.assertIn(readonly.root, run.stdout, "each is named")

    # A filesystem that is mounted read-only as a whole.
    def test_readonly_filesystem(self):
        volume = self.volume()
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        command("mount", "-o", "remount,ro", volume.root)
        run = self.onefold(volume.root)
        self.assertIn(run.code, (1, 2), run)
        self.assertIn("read-only", run.stderr + run.stdout, run)

    # `/` itself, with the system's folders mounted below: case 92.
    def test_root_directory(self):
        volume = self.volume()
        for name in ("data/a", "data/b"):
            volume.write(name, pattern(1, MIB), sync=True)
        for name in ("usr", "proc", "state", "program"):
            volume.folder_at(name)
        for name in ("lib", "lib64", "bin", "sbin"):
            if os.path.islink("/" + name):
                os.symlink("usr/" + name, volume.path(name))
        self.bind("/usr", volume.path("usr"))
        self.bind("/proc", volume.path("proc"))
        self.bind(os.path.dirname(case.binary()), volume.path("program"))
        self.mount("tmpfs", volume.path("state"), "-t", "tmpfs")
        inside = "/program/" + os.path.basename(case.binary())
        for freed, requests in ((MIB, 1), (0, 0)):
            run = self.finish(self.start_in(volume.root, inside, "--json", "--state",
                                            "/state/onefold", "/"))
            self.assertEqual(run.code, 0, run)
            self.assertEqual(run.totals["bytes_freed"], freed, run)
            self.assertEqual(run.totals["dedupe_requests"], requests, run)
        self.assertEqual(volume.used_data(), MIB)

    def start_in(self, root, program, *arguments):
        process = subprocess.Popen(
            ["unshare", "--mount", "chroot", root, program, "dedupe", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self._end, process)
        return process


class StateInsideTest(case.OnefoldTest):

    # The program's own files are never folded with anything: case 125.
    def test_state_inside_the_volume(self):
        volume = self.volume()
        state = volume.path("a [b] *c/state")
        os.makedirs(os.path.dirname(state))
        for number in range(300):
            volume.write(f"f/{number}", pattern(number, 8 * KIB))
            volume.write(f"g/{number}", pattern(number, 8 * KIB))
        before = manifest(volume.root, ("a [b] *c",))
        run = self.onefold(volume.root, state=state)
        # (What the state itself takes up here hides the drop of the filesystem's figure.)
        self.assertEqual((run.code, run.totals["bytes_freed"]), (0, 300 * 8 * KIB), run)
        for number in range(300):
            self.assertTrue(volume.same_place(f"f/{number}", f"g/{number}"))
        self.assertEqual([], differences(before, manifest(volume.root, ("a [b] *c",))), run)
        copies = {}
        for folder, _, names in os.walk(state):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    data = file.read()
                if len(data) > 4096:
                    copies[f"copy/{len(copies)}"] = os.path.join(folder, name)
                    volume.write(f"copy/{len(copies) - 1}", data, sync=True)
        self.assertTrue(copies, "the state has files worth a copy")
        run = self.onefold(volume.root, state=state)
        self.assertEqual(run.code, 0, run)
        for copy in copies:
            self.assertFalse(any(mapping.shared for mapping in volume.mappings(copy)), copies[copy])


if __name__ == "__main__":
    case.main()
