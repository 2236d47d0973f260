#!/usr/bin/env python3
"""deploy/compose.yaml: coordinator and worker as docs/install/containers.md says. Prometheus and Grafana have
no images here; that their files are where the composition mounts them is looked at.
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "btrfs")]

from containers import Failed, command, podman, podman_command, unique_name, wait_until
from image import IMAGE, SOURCE, why_no_image
from volume import MIB, Volume, pattern

COMPOSITION = SOURCE / "deploy/compose.yaml"
SERVICES = ("worker", "coordinator")


class ComposeTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="onefold-compose-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        self.volume = Volume(self.folder)
        self.addCleanup(self.volume.close)
        self.project = unique_name("compose")
        self.environment = dict(podman_command()[1], ONEFOLD_IMAGE=IMAGE, VOLUME=self.volume.root, HOST_NAME="nas1",
                                PORT="17171")
        self.addCleanup(self.compose, "down", "--volumes", check=False)

    def compose(self, *arguments, check=True):
        return command("podman-compose", "--file", COMPOSITION, "--project-name", self.project, *arguments,
                       check=check, env=self.environment)

    def ask(self, *arguments):
        return podman("exec", f"{self.project}_coordinator_1", "onefold", *arguments)

    def answers(self):
        try:
            return self.ask("fleet", "list")
        except Failed:
            return None

    @staticmethod
    def health_check():
        line = re.search(r"test: (\[.*\])", COMPOSITION.read_text())[1]
        kind, *arguments = json.loads(line)
        assert kind == "CMD"
        return arguments

    def test_coordinator_and_worker(self):
        self.compose("up", "-d", "coordinator")
        wait_until("the coordinator serves", self.answers, 60)
        token = self.ask("fleet", "token", "create").split("fleet join ")[1].split("@")[0]
        self.compose("run", "--rm", "worker", "fleet", "join", f"{token}@coordinator:7171", "--allow", self.volume.root,
                     "--name", "nas1")
        self.compose("up", "-d", "worker")
        for name in ("a", "b"):
            self.volume.write(name, pattern(9, 4 * MIB))
        self.volume.sync()
        wait_until("the worker is there", lambda: self.volume.root in self.answers(), 60)
        said = self.ask("run", "now", "--selector", "all", "--watch")
        self.volume.sync()
        self.assertTrue(self.volume.same_place("a", "b"), said)
        # podman-compose 1.0 wraps a health check in a shell, which the image has none of; the check itself:
        podman("exec", f"{self.project}_coordinator_1", *self.health_check())

    def test_what_it_mounts_is_there(self):
        mounted = re.findall(r"^ +- \./([\w./-]+):/", COMPOSITION.read_text(), re.MULTILINE)
        self.assertGreater(len(mounted), 4)
        for place in mounted:
            self.assertTrue((SOURCE / "deploy" / place).exists(), place)


if __name__ == "__main__":
    reason = why_no_image() or (None if shutil.which("podman-compose") else "needs podman-compose")
    if reason:
        print(f"SKIP: compose: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
