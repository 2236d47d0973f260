"""The test case all black-box tests of `onefold dedupe` are made from.

A test makes volumes, runs the program and looks at what the filesystem says. `dedupe()` also checks
what holds for every completed run: nothing a user could notice changed, the reported figures agree
with the filesystem's own account, and a second run has nothing left to do.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from manifest import differences, layout, manifest
from volume import Volume, command

COUNTERS = ("extents_total", "extents_scanned", "bytes_scanned", "file_bytes_read",
            "dedupe_requests", "bytes_shared", "bytes_freed", "bytes_written", "bytes_pinned",
            "metadata_bytes_grown")
OUTCOMES = {0: ("completed", "time_limit"), 1: ("refused",), 2: ("incomplete",),
            130: ("interrupted",), 143: ("interrupted",)}
# Instrumented programs are slower; limits of time are multiplied by this.
SLOWNESS = 4 if os.environ.get("ONEFOLD_SANITIZE") else 1
DEADLINE_SECONDS = 100 * SLOWNESS
SEED = int(os.environ.get("ONEFOLD_SEED", "1"))


@dataclasses.dataclass
class Run:
    """What one run of the program said. `report` is None unless it ran with --json."""

    arguments: list
    code: int
    stdout: str
    stderr: str
    seconds: float
    report: dict = None

    @property
    def totals(self):
        return self.report["totals"]

    @property
    def problems(self):
        """Of the run and of its volumes."""
        parts = [self.report, *self.report["volumes"]]
        return [problem for part in parts for problem in part["problems"]]

    @property
    def reasons(self):
        """Every reason the report names for something left alone."""
        named = {reason for reason, count in self.totals["skipped"].items() if count}
        named |= {holder for holder, count in self.totals["pinned_by"].items() if count}
        return named | {problem["reason"] for problem in self.problems}

    def __str__(self):
        return (f"{' '.join(map(repr, self.arguments))}\nexit {self.code}\n"
                f"stdout: {self.stdout}\nstderr: {self.stderr}")


def binary():
    path = os.environ.get("ONEFOLD_BIN")
    if not path or not os.access(path, os.X_OK):
        raise AssertionError(f"ONEFOLD_BIN must name the program under test, is {path!r}")
    return path


def why_no_volumes():
    """Why loop-mounted btrfs cannot be used here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not os.path.exists("/dev/loop-control"):
        return "needs loop devices"
    for tool in ("mkfs.btrfs", "btrfs", "losetup"):
        if not shutil.which(tool):
            return f"needs {tool}"
    if shutil.which("modprobe"):
        command("modprobe", "btrfs", check=False)
    with open("/proc/filesystems", encoding="ascii") as kinds:
        if "\tbtrfs\n" not in kinds.read():
            return "needs btrfs in the kernel"
    return None


def new_folder():
    place = os.environ.get("TMPDIR", "/var/tmp")  # /tmp may be in memory
    return tempfile.mkdtemp(prefix="onefold-test-", dir=place)


class OnefoldTest(unittest.TestCase):
    """Gives volumes, mounts and state directories to a test and takes them back.

    Those of the first failure are kept, mounted, and their place is printed; not where CI is set.
    """

    maxDiff = None
    _kept = False

    @classmethod
    def class_folder(cls):
        """A folder for what all tests of the class begin with."""
        if "_class_folder" not in cls.__dict__:
            cls._class_folder = new_folder()
            cls.addClassCleanup(shutil.rmtree, cls._class_folder)
        return cls._class_folder

    @classmethod
    def setUpClass(cls):
        reason = why_no_volumes()
        if reason:
            raise unittest.SkipTest(reason)

    def setUp(self):
        self.folder = new_folder()
        self.state = os.path.join(self.folder, "state")
        self._undo = []  # called last to first at the end

    def run(self, result=None):
        result = result if result is not None else self.defaultTestResult()
        bad_before = len(result.failures) + len(result.errors)
        super().run(result)
        failed = len(result.failures) + len(result.errors) > bad_before
        if not getattr(self, "folder", None):
            return result
        if failed and not OnefoldTest._kept and not os.environ.get("CI"):
            OnefoldTest._kept = True
            print(f"kept for a look: {self.folder}", file=sys.stderr)
        else:
            self._release()
        return result

    def _release(self):
        for undo in reversed(self._undo):
            undo()
        shutil.rmtree(self.folder, ignore_errors=True)

    # What a test is made of.

    def volume(self, **options):
        volume = Volume(self.folder, **options)
        self._undo.append(volume.close)
        return volume

    def copy_of(self, master):
        """A volume that is a copy of the image `master`, with an empty state. Copies have the same id:
        only one can be mounted at a time."""
        image = os.path.join(self.folder, "copy.img")
        command("cp", "--sparse=always", master, image)
        shutil.rmtree(self.state, ignore_errors=True)
        return self.volume(image=image)

    def mount(self, source, target, *options):
        """Mounts something further; undone at the end."""
        os.makedirs(target, exist_ok=True)
        command("mount", *options, source, target)
        self._undo.append(lambda: command("umount", "-l", target, check=False))
        return target

    def bind(self, source, target, readonly=False):
        self.mount(source, target, "--bind")
        if readonly:
            command("mount", "-o", "remount,bind,ro", target)
        return target

    def start(self, *arguments, prefix=(), env=None, state=None, **options):
        """Starts `onefold dedupe`; the caller waits for it. Ended with the test."""
        full = [*prefix, binary(), "dedupe", "--state", state or self.state, *arguments]
        process = subprocess.Popen(
            full, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, **(env or {})), **options)
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, since=None):
        """Waits for a started program and reads its report."""
        since = since or time.monotonic()
        try:
            stdout, stderr = process.communicate(timeout=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"still running after {DEADLINE_SECONDS} s: {process.args}")
        seconds = time.monotonic() - since
        run = Run(process.args, process.returncode, stdout.decode(errors="surrogateescape"),
                  stderr.decode(errors="surrogateescape"), seconds)
        self.assertNotIn("Sanitizer", run.stderr, run)
        if "--json" in process.args and run.stdout.strip():
            run.report = json.loads(run.stdout)
        return run

    def onefold(self, *arguments, **options):
        """Runs `onefold dedupe` with --json to its end. No check but that it ended by itself."""
        since = time.monotonic()
        run = self.finish(self.start("--json", *arguments, **options), since)
        self.assertGreaterEqual(run.code, 0, f"killed by a signal: {run}")
        self.assertLess(run.code, 128, f"crashed: {run}")
        return run

    def dedupe(self, volume, *options, paths=None, code=0, frees=None, shares=None, pins=None,
               requests=None, settled=True, watch=("",), skip=(), **start):
        """Runs on `paths` (default: the whole volume) and checks all that holds for such a run.

        `frees`, `shares`, `pins`, `requests`: expected figures; None: whatever the filesystem says.
        `settled`: a second run must find nothing to do. `watch`: relative paths of which nothing
        may change, `skip`: those below them that may.
        """
        paths = paths if paths is not None else [volume.root]
        before = {name: manifest(volume.path(name), skip) for name in watch}
        used = volume.used_data()
        run = self.onefold(*options, *paths, **start)
        drop = used - volume.used_data()
        self.assertEqual(run.code, code, run)
        if frees is not None:
            self.assertEqual(drop, frees, f"the filesystem freed something else: {run}")
        self.check_report(run)
        self.assertEqual(run.totals["bytes_freed"], drop, run)
        for name, expected in (("bytes_shared", shares), ("bytes_pinned", pins),
                               ("dedupe_requests", requests)):
            if expected is not None:
                self.assertEqual(run.totals[name], expected, f"{name}: {run}")
        if settled:
            self.check_settled(volume, *options, paths=paths, code=code, **start)
        for name in watch:
            after = manifest(volume.path(name), skip)
            self.assertEqual([], differences(before[name], after), run)
        return run

    def check_settled(self, volume, *options, paths=None, code=0, **start):
        """Another run of the same kind asks the kernel for nothing and changes nothing."""
        paths = paths if paths is not None else [volume.root]
        used = volume.used_data()
        again = self.onefold(*options, *paths, **start)
        self.assertEqual(again.code, code, f"second run: {again}")
        self.assertEqual(again.totals["dedupe_requests"], 0, f"second run: {again}")
        self.assertEqual(again.totals["bytes_freed"], 0, f"second run: {again}")
        self.assertEqual(volume.used_data(), used, f"second run: {again}")
        return again

    def check_report(self, run):
        """What every report promises."""
        report = run.report
        self.assertIsNotNone(report, f"no JSON: {run}")
        self.assertEqual(report["schema"], "onefold.run.v1")
        self.assertIn(report["outcome"], OUTCOMES[run.code], run)
        for name in COUNTERS:
            parts = [volume[name] for volume in report["volumes"]]
            if None not in parts:
                self.assertEqual(report["totals"][name], sum(parts), f"{name}: {run}")
        for volume in report["volumes"]:
            if volume["bytes_pinned"] is None:  # a volume that could not be worked on
                self.assertEqual(volume["pinned_by"], {}, run)
                self.assertGreater(volume["problems_total"], 0, run)
            else:
                self.assertEqual(sum(volume["pinned_by"].values()), volume["bytes_pinned"], run)
            self.assertLessEqual(len(volume["problems"]), volume["problems_total"], run)

    def preview(self, volume, *options, paths=None, **start):
        """Runs --dry-run and checks that nothing at all happened. Returns the run."""
        before = (manifest(volume.root), layout(volume.root), volume.used_data(),
                  volume.used_metadata(), volume.transid())
        run = self.onefold("--dry-run", *options, *(paths or [volume.root]), **start)
        self.assertEqual(run.code, 0, run)
        self.check_report(run)
        self.assertTrue(run.report["dry_run"], run)
        self.assertEqual(run.totals["dedupe_requests"], 0, run)
        after = (manifest(volume.root), layout(volume.root), volume.used_data(),
                 volume.used_metadata(), volume.transid())
        self.assertEqual(before, after, f"a dry run changed something: {run}")
        return run

    def assert_untouched(self, volume, names, before):
        """The named files lie where they lay in `before`, a layout()."""
        after = layout(volume.root)
        for name in names:
            self.assertEqual(before[name], after[name], f"{name} was moved")


def main():
    """Runs the tests of a file; exit code 77 when none of them can run here."""
    reason = why_no_volumes()
    if reason:
        print(f"SKIP: {os.path.basename(sys.argv[0])}: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
