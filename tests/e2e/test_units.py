#!/usr/bin/env python3
"""The units in deploy/systemd: systemd understands every line, and they give away no more than needed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ.get("ONEFOLD_BIN", "/usr/bin/onefold")
UNITS = pathlib.Path(__file__).resolve().parents[2] / "deploy/systemd"
# Exposure as `systemd-analyze security` counts it, in tenths; the worker needs CAP_SYS_ADMIN.
EXPOSURE_MAX = {"onefold-coordinator.service": 20, "onefold-worker.service": 60,
                "onefold.service": 60}


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *arguments], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60)


class UnitsTest(unittest.TestCase):

    def test_units_are_understood_and_closed(self):
        units = sorted(UNITS.glob("*.service"))
        self.assertEqual([unit.name for unit in units], sorted(EXPOSURE_MAX))
        with tempfile.TemporaryDirectory() as folder:
            for unit in units:
                text = re.sub(r"/usr/bin/onefold", BIN, unit.read_text())
                copy = pathlib.Path(folder, unit.name)
                copy.write_text(text)
                run = analyze("verify", str(copy))
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertNotIn(unit.name, run.stderr)
                run = analyze("security", "--offline=yes", f"--threshold={EXPOSURE_MAX[unit.name]}", str(copy))
                self.assertEqual(run.returncode, 0, run.stdout[-300:] + run.stderr)


if __name__ == "__main__":
    if shutil.which("systemd-analyze") is None:
        print("SKIP: systemd-analyze is not installed")
        sys.exit(77)
    unittest.main(verbosity=2)
