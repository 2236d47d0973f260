#!/usr/bin/env python3
"""Exit codes and messages: 0 done, 1 refused, 2 less than asked. Each says why and what to do."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from manifest import layout
from volume import MIB, command, pattern


class RootTest(case.OnefoldTest):

    def volume_with_pair(self):
        volume = self.volume(size="256M")
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        return volume

    # The rest is done and the missing one named: case 127.
    def test_one_path_is_missing(self):
        volume = self.volume_with_pair()
        run = self.dedupe(volume, paths=[volume.root, volume.path("misspelt")], code=2, frees=MIB)
        self.assertEqual([(problem["reason"], problem["path"]) for problem in run.problems],
                         [("missing", volume.path("misspelt"))])
        self.assertIn("misspelt", run.stderr)

    # Nothing is left to work on, and nothing is forgotten: case 117.
    def test_all_paths_are_missing(self):
        volume = self.volume_with_pair()
        self.dedupe(volume, frees=MIB)
        volume.write("c", pattern(1, MIB), sync=True)
        run = self.onefold(volume.path("x"), volume.path("y"))
        self.assertEqual((run.code, run.report["outcome"]), (1, "refused"), run)
        for name in ("x", "y"):
            self.assertIn(volume.path(name), run.stderr + run.stdout, run)
        run = self.dedupe(volume, frees=MIB)
        self.assertEqual(run.totals["extents_scanned"], 1, run)

    # The disk is not mounted when the job runs by itself: case 117.
    def test_unmounted_volume(self):
        volume = self.volume_with_pair()
        self.dedupe(volume, frees=MIB)
        volume.unmount()
        run = self.onefold()
        self.assertEqual(run.code, 1, run)
        volume.mount()
        run = self.onefold()
        self.assertEqual((run.code, run.totals["extents_scanned"]), (0, 0), run)

    # Quoted pattern: the shell did not expand it.
    def test_path_with_a_star(self):
        volume = self.volume_with_pair()
        run = self.onefold(volume.root + "/*")
        self.assertEqual(run.code, 1, run)
        self.assertIn("*", run.stderr, run)

    # Too few open files: raised where that is allowed, refused before anything begins where not.
    def test_limit_of_open_files(self):
        volume = self.volume_with_pair()
        for limit in (0, 12, 16, 20, 64, 127):
            run = self.finish(self.start(volume.root, prefix=("prlimit", f"--nofile={limit}:{limit}")))
            if limit >= 12:  # below, not even its libraries can be loaded
                self.assertEqual(run.code, 1, run)
                self.assertRegex(run.stderr, "ulimit -n", run)
        self.assertFalse(os.path.exists(self.state))
        self.dedupe(volume, prefix=("prlimit", "--nofile=20:128"), frees=MIB)

    # A limit on the size of files is said, and nothing is taken for damaged because of it.
    def test_limit_of_file_sizes(self):
        volume = self.volume_with_pair()
        for limit in (0, 200):
            run = self.onefold("--dry-run", volume.root, prefix=("prlimit", f"--fsize={limit}"))
            self.assertEqual(run.code, 1, run)
            self.assertIn("ulimit -f", run.stderr, run)
        self.dedupe(volume, frees=MIB)
        for number in range(300):
            for name in ("c", "d"):
                volume.write(f"{name}/{number}", pattern(10 + number, 4096))
        volume.sync()
        run = self.onefold(volume.root, prefix=("prlimit", "--fsize=8192"))
        self.assertIn(run.code, (1, 2), run)
        self.assertIn("ulimit -f", run.stderr, run)
        self.dedupe(volume)
        self.assertEqual(volume.used_data(), MIB + 300 * 4096)
        self.assertEqual([name for name in os.listdir(self.state) if "damaged" in name], [])

    # No path, nothing stored: told what to type.
    def test_nothing_to_replay(self):
        run = self.onefold()
        self.assertEqual(run.code, 1, run)
        self.assertRegex(run.stderr, "PATH|path", run)

    def test_help_lists_the_exit_codes(self):
        run = self.finish(self.start("--help"))
        self.assertEqual(run.code, 0, run)
        for word in ("--dry-run", "--exclude", "--max-time", "130", "143"):
            self.assertIn(word, run.stdout)


class OtherFilesystemTest(case.OnefoldTest):

    def other(self, kind):
        target = os.path.join(self.folder, kind)
        if kind == "tmpfs":
            return self.mount("tmpfs", target, "-t", "tmpfs")
        image = target + ".img"
        command("truncate", "-s", "64M", image)
        command("mkfs.ext4", "-q", image)
        return self.mount(image, target, "-o", "loop")

    # A loud refusal, not "nothing to do": cases 32, 33.
    def test_not_btrfs(self):
        for kind in ("tmpfs", "ext4"):
            with self.subTest(kind):
                root = self.other(kind)
                for name in ("a", "b"):
                    with open(os.path.join(root, name), "wb") as file:
                        file.write(pattern(1, MIB))
                run = self.onefold(root)
                self.assertEqual((run.code, run.report["outcome"]), (1, "refused"), run)
                self.assertIn("btrfs", run.stderr, run)
                self.assertIn(kind, run.stderr, run)

    # What can be done is done, and the rest is named.
    def test_btrfs_and_another(self):
        volume = self.volume(size="256M")
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        other = self.other("tmpfs")
        run = self.dedupe(volume, paths=[other, volume.root], code=2, frees=MIB)
        self.assertIn(other, run.stderr, run)

    # An overlay on btrfs looks like it and is not: case 32.
    def test_overlay(self):
        volume = self.volume(size="256M")
        for name in ("lower", "upper", "work"):
            volume.folder_at(name)
        for name in ("a", "b"):
            volume.write(f"lower/{name}", pattern(1, MIB), sync=True)
        target = os.path.join(self.folder, "overlay")
        os.mkdir(target)
        try:
            self.mount("overlay", target, "-t", "overlay", "-o", ",".join(
                f"{kind}dir={volume.path(kind)}" for kind in ("lower", "upper", "work")))
        except RuntimeError as refused:
            self.skipTest(f"overlay: {refused}")
        before = layout(volume.root)
        run = self.onefold(target)
        self.assertEqual(run.code, 1, run)
        self.assertEqual(layout(volume.root), before)


class PrivilegeTest(case.OnefoldTest):

    def volume_and_program(self):
        """A copy of the program that everybody may run: the build may lie in a closed folder."""
        volume = self.volume(size="256M")
        for name in ("a", "b"):
            volume.write(name, pattern(1, MIB), sync=True)
        os.chmod(self.folder, 0o755)
        os.chmod(volume.folder, 0o755)
        program = os.path.join(self.folder, "onefold")
        shutil.copy(case.binary(), program)
        os.chmod(program, 0o755)
        os.mkdir(self.state, 0o700)
        os.chown(self.state, 65534, 65534)
        return volume, program

    def run_as(self, program, prefix, *arguments):
        done = subprocess.run(
            [*prefix, program, "dedupe", "--state", self.state, *arguments], capture_output=True,
            text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        return case.Run([*prefix, *arguments], done.returncode, done.stdout, done.stderr, 0)

    NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

    # One message with what is missing and what is lost by that; files of others are named: cases
    # 19, 20.
    def test_user_without_capabilities(self):
        volume, program = self.volume_and_program()
        run = self.run_as(program, self.NOBODY, volume.root)
        self.assertEqual(run.code, 2, run)
        self.assertIn("CAP_SYS_ADMIN", run.stderr)
        self.assertIn("CAP_DAC_READ_SEARCH", run.stderr)
        self.assertIn("not known", run.stderr)
        self.assertIn(f"{volume.path('a')}: permission", run.stderr)
        self.assertLess(len(run.stderr.splitlines()), 12, run)
        # And nothing was recorded as done: the run of root finds it all.
        shutil.rmtree(self.state)
        self.dedupe(volume, frees=MIB)

    def test_root_without_one_capability(self):
        volume, program = self.volume_and_program()
        os.chown(self.state, 0, 0)
        run = self.run_as(program, ("setpriv", "--bounding-set=-sys_admin"), volume.root)
        self.assertEqual(run.code, 0, run)
        self.assertIn("CAP_SYS_ADMIN", run.stderr)
        self.assertNotIn("CAP_DAC_READ_SEARCH", run.stderr)
        self.assertTrue(volume.same_place("a", "b"), run)

    # The least that is needed is enough, for a user who may not even read the files.
    def test_user_with_the_capabilities(self):
        volume, program = self.volume_and_program()
        for name in ("a", "b"):
            os.chmod(volume.path(name), 0o600)
        caps = "+sys_admin,+dac_read_search,+fowner"
        run = self.run_as(program, (*self.NOBODY, f"--inh-caps={caps}", f"--ambient-caps={caps}"),
                          volume.root)
        self.assertEqual(run.code, 0, run)
        self.assertEqual(volume.used_data(), MIB)

    # In a user namespace root has all capabilities and none that the kernel honours.
    def test_user_namespace(self):
        volume, program = self.volume_and_program()
        os.chown(self.state, 0, 0)
        prefix = ("unshare", "--user", "--map-root-user")
        try:
            command(*prefix, "true")
        except RuntimeError as refused:
            self.skipTest(f"user namespaces: {refused}")
        run = self.run_as(program, prefix, volume.root)
        self.assertEqual(run.code, 0, run)
        self.assertIn("namespace", run.stderr)
        self.assertTrue(volume.same_place("a", "b"), run)


if __name__ == "__main__":
    case.main()
