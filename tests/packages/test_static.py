#!/usr/bin/env python3
"""The static worker: one file that needs nothing of its host, in a fleet over TLS; also that for 64-bit
ARM, as far as an emulator of its processor goes.
"""

import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "btrfs")]

from container_fleet import ContainerFleet
from containers import build, command, podman
from image import PACKAGES, why_no_image

EMULATOR = shutil.which("qemu-aarch64-static")


def program(architecture):
    found = glob.glob(str(PACKAGES / f"onefold-worker_*_{architecture}"))
    return found[0] if len(found) == 1 else None


def is_static(path):
    """By its program headers: nobody interprets it."""
    return "INTERP" not in command("readelf", "--program-headers", "--wide", path)


class StaticTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="onefold-static-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.fleet = ContainerFleet(cls.folder)
        cls.addClassCleanup(cls.fleet.close)

    def test_works_where_nothing_else_is(self):
        path = program("amd64")
        self.assertTrue(is_static(path))
        context = os.path.join(self.folder, "context")
        os.mkdir(context)
        shutil.copy(path, os.path.join(context, "onefold"))
        image = build("static", "FROM scratch\nCOPY onefold /usr/bin/onefold\n"
                      'ENTRYPOINT ["/usr/bin/onefold"]\n', context)
        self.assertIn("onefold", podman("run", "--rm", image, "--version"))
        worker = self.fleet.add_worker("static", image=image)
        self.fleet.wait_connected()
        worker.make_duplicates(1)
        said = self.fleet.run_everything()
        self.assertTrue(worker.is_folded(1), f"{said}\n{worker.container.logs()[-2000:]}")
        podman("stop", "--time", "10", worker.container.name)
        self.assertEqual(worker.container.exit_code(), 0)

    @unittest.skipUnless(program("arm64"), "no worker for arm64 (./dev package --arm64 makes it)")
    @unittest.skipUnless(EMULATOR, "no qemu-user-static")
    def test_arm64_joins_a_fleet_over_tls(self):
        path = program("arm64")
        self.assertTrue(is_static(path))

        def run(*arguments):
            return command(EMULATOR, path, *arguments, timeout=120)
        self.assertIn("onefold", run("--version"))
        state = os.path.join(self.folder, "arm")
        token = self.fleet.token().replace("coordinator:", f"{self.fleet.coordinator.address()}:")
        run("fleet", "join", token, "--allow", "/srv/data", "--name", "arm", "--state-directory", state,
            "--config", os.path.join(self.folder, "arm.yaml"))
        self.assertIn("arm", {host["display_name"] for host in self.fleet.ask_json("fleet", "list")["hosts"]})
        self.assertIn("serving", run("health", "--trusted", f"{state}/trusted.pem",
                                     f"{self.fleet.coordinator.address()}:7171"))
        # The emulator knows few of btrfs's calls; that it talks, and ends when told, can be seen.
        worker = subprocess.Popen([EMULATOR, path, "worker", "--config", os.path.join(self.folder, "arm.yaml")],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(worker.kill)
        first = worker.stdout.readline() + worker.stdout.readline()
        self.assertIn("working", first)
        worker.terminate()
        self.assertEqual(worker.wait(timeout=30), 0)


if __name__ == "__main__":
    reason = why_no_image() or (None if program("amd64") else "no static worker (./dev package makes it)")
    if reason:
        print(f"SKIP: static: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
