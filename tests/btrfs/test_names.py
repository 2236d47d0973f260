#!/usr/bin/env python3
"""Names are bytes: nothing in them may derail a run or reach a terminal raw."""

import json
import os
import re

import case
from volume import KIB, MIB, pattern

HOSTILE = [
    b"new\nline", b"return\rfreed 9 TiB", b"esc\x1b[2J\x1b]0;title\x07", b"bell\x07", b"del\x7f",
    b"c1 \xc2\x9b2J", b"raw c1 \x9b2J", b"not utf-8 \xff\xfe", b"cut \xe2\x82",
    b"sep \xe2\x80\xa8x", b"turn \xe2\x80\xaex", b"quote \"'`$(x)", b"back\\slash", b" space ",
    b"-rf", b"*[?]", b"tab\t",
    "日本語 🦀 é".encode(), b"x" * 255,
]
# Control characters but newline; ESC and line separators however encoded.
RAW = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]")


class NameTest(case.OnefoldTest):

    def hostile_volume(self):
        volume = self.volume()
        for number, name in enumerate(HOSTILE):
            for folder in ("one", "two"):
                volume.write(os.path.join(folder, os.fsdecode(name)), pattern(number, MIB))
        for number, name in enumerate(HOSTILE[:8]):
            data = pattern(100 + number, 64 * KIB)
            volume.write(os.path.join(os.fsdecode(name) + "d", "f"), data)
            volume.write(f"three/{number}", data)
        return volume

    def assert_harmless(self, run):
        for text in (run.stdout, run.stderr):
            raw = os.fsencode(text)
            self.assertIsNone(RAW.search(raw), raw)
            raw.decode("utf-8")

    # Folded like any other: case 119.
    def test_hostile_names(self):
        self.dedupe(self.hostile_volume(), frees=len(HOSTILE) * MIB + 8 * 64 * KIB)

    # Shown escaped in examples, text and JSON.
    def test_printed_names(self):
        volume = self.hostile_volume()
        run = self.preview(volume)
        self.assert_harmless(run)
        json.loads(run.stdout.encode("utf-8", "strict"))
        for options in (["--dry-run"], ["--dry-run", "-v"], ["-v"], ["--progress=plain"]):
            run = self.finish(self.start(*options, volume.root))
            self.assertEqual(run.code, 0, run)
            self.assert_harmless(run)

    # Problems name paths too: the path of a missing root, an immutable file.
    def test_names_in_problems(self):
        volume = self.volume()
        names = [os.fsdecode(name) for name in HOSTILE[:9]]
        for number, name in enumerate(names):
            for folder in ("one", "two"):
                file = os.path.join(folder, name)
                volume.write(file, pattern(number, MIB), sync=True)
                volume.immutable(file)
                self.addCleanup(volume.immutable, file, False)
        missing = [volume.path("missing " + name) for name in names]
        run = self.onefold("-v", volume.root, *missing)
        self.assertEqual(run.code, 2, run)
        self.assert_harmless(run)
        run = self.finish(self.start(volume.root, *missing))
        self.assertEqual(run.code, 2, run)
        self.assert_harmless(run)

    # The state directory, a mount point and excludes with such names.
    def test_hostile_paths_in_arguments(self):
        volume = self.volume()
        inner = os.fsdecode(b"top\x1b[31m\n\xff")
        for name in ("a", "b"):
            volume.write(os.path.join(inner, name), pattern(1, MIB), sync=True)
        state = os.path.join(self.folder, os.fsdecode(b"state\n\x1b\xfe"))
        run = self.dedupe(volume, "--exclude=" + os.fsdecode(b"x\x1b\xff"), frees=MIB,
                          paths=[volume.path(inner)], state=state)
        self.assert_harmless(run)
        plain = self.finish(self.start(volume.path(inner), state=state))
        self.assert_harmless(plain)


class LongPathTest(case.OnefoldTest):

    def deep(self, volume, name, depth=20):
        """A chain of folders with 250-byte names; returns a descriptor of the last one."""
        fd = os.open(volume.root, os.O_RDONLY)
        for level in range(depth):
            part = f"{name}{level}".ljust(250, "x")
            os.mkdir(part, dir_fd=fd)
            below = os.open(part, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        return fd

    # Longer than PATH_MAX: case 118.
    def test_paths_longer_than_4096_bytes(self):
        volume = self.volume()
        for branch in ("p", "q"):
            directory = self.deep(volume, branch)
            for number in range(3):
                fd = os.open(f"f{number}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory)
                os.write(fd, pattern(number, 256 * KIB))
                os.close(fd)
            os.close(directory)
        volume.write("beside", pattern(0, 256 * KIB))
        self.preview(volume)
        self.dedupe(volume, frees=4 * 256 * KIB)

    # Excluded far down.
    def test_exclude_far_down(self):
        volume = self.volume()
        for branch in ("p", "q"):
            directory = self.deep(volume, branch)
            for name in ("f", "f.iso"):
                fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=directory)
                os.write(fd, pattern(len(name), 256 * KIB))
                os.close(fd)
            os.close(directory)
        self.dedupe(volume, "--exclude=*.iso", frees=256 * KIB)

    # A thousand folders deep: nothing recurses, nothing is quadratic.
    def test_deep_tree(self):
        volume = self.volume()
        fd = os.open(volume.root, os.O_RDONLY)
        for level in range(400):
            os.mkdir("d", dir_fd=fd)
            below = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
            file = os.open("f", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
            os.write(file, pattern(level % 200, 8 * KIB))
            os.close(file)
        os.close(fd)
        run = self.dedupe(volume, frees=200 * 8 * KIB)
        self.assertLess(run.seconds, 30 * case.SLOWNESS)


if __name__ == "__main__":
    case.main()
