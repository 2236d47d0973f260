#!/usr/bin/env python3
"""onefold doctor on real volumes, and what a terminal gets to see of it."""

import json
import os
import pathlib
import re
import subprocess
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from terminal import on_terminal
from volume import command

SCHEMA = json.loads((pathlib.Path(os.environ["ONEFOLD_SOURCE_DIR"]) /
                     "docs/schemas/onefold.doctor.v1.json").read_text())
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def doctor(*arguments):
    """The findings by kind, and the exit code."""
    done = subprocess.run([os.environ["ONEFOLD_BIN"], "doctor", "--json", *arguments],
                          capture_output=True, text=True)
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    return {finding["kind"]: finding for finding in report["findings"]}, done.returncode


class DoctorTest(case.OnefoldTest):

    def test_volume_is_well(self):
        volume = self.volume(size="1G")
        findings, _ = doctor(volume.root)
        self.assertEqual(findings["filesystem"]["severity"], "ok")
        self.assertIn("checksums: crc32c", findings["filesystem"]["text"])
        self.assertEqual(findings["space"]["severity"], "ok")
        self.assertEqual(findings["privileges"]["severity"], "ok")
        self.assertNotIn("quotas", findings)
        self.assertNotIn("autodefrag", findings)

    def test_what_is_wrong_is_mended_by_what_is_said(self):
        volume = self.volume(size="256M", mount="autodefrag")
        command("btrfs", "quota", "enable", volume.root)
        findings, code = doctor(volume.root)
        self.assertEqual(code, 2)
        for kind in ("quotas", "autodefrag"):
            self.assertEqual(findings[kind]["severity"], "warning")
            subprocess.run(findings[kind]["command"].split("; and")[0], shell=True, check=True)
        findings, _ = doctor(volume.root)
        self.assertNotIn("quotas", findings)
        self.assertNotIn("autodefrag", findings)

        command("mount", "-o", "remount,ro", volume.root)
        findings, code = doctor(volume.root)
        self.assertEqual((findings["filesystem"]["severity"], code), ("error", 1))
        subprocess.run(findings["filesystem"]["command"], shell=True, check=True)
        self.assertEqual(doctor(volume.root)[0]["filesystem"]["severity"], "ok")

    def test_not_on_btrfs_or_not_there(self):
        for path in ("/proc", "/no/such/path"):
            findings, code = doctor(path)
            self.assertEqual((findings["filesystem"]["severity"], code), ("error", 1))

    def test_silent_coordinator(self):
        findings, code = doctor("--coordinator", "localhost:1", "/proc")
        self.assertEqual((findings["coordinator"]["severity"], code), ("error", 1))
        self.assertIn("systemctl", findings["coordinator"]["command"])

    # Nothing in a name steers the terminal; colours only there, and not where they are not wanted.
    def test_terminal(self):
        hostile = "/\x1b]0;x\x07\x1b[2J\u202e\n\r"
        shown = on_terminal("doctor", hostile)
        self.assertRegex(shown, COLOUR)
        for text in (COLOUR.sub("", shown), on_terminal("doctor", hostile, NO_COLOR="1")):
            self.assertNotRegex(text, r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f\u202e]")
            self.assertIn("\\x1b]0;x", text)
        piped = subprocess.run([os.environ["ONEFOLD_BIN"], "doctor", hostile],
                               capture_output=True, text=True).stdout
        self.assertNotIn("\x1b", piped)


if __name__ == "__main__":
    case.main()
