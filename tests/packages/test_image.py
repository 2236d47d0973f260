#!/usr/bin/env python3
"""The image: what is in it, what it needs to run, and what it says where that is missing."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "btrfs")]

from containers import Container, Failed, podman, unique_name, wait_until
from image import IMAGE, why_no_image
from volume import MIB, Volume, pattern

CAPABILITIES = ("SYS_ADMIN", "DAC_READ_SEARCH", "FOWNER")
LOCKED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
CONTROL_SOCKET = "unix:/var/lib/onefold-coordinator/control.sock"
IMAGE_BYTES_MAX = 120 * MIB


def adding(capabilities):
    return [f"--cap-add={name}" for name in capabilities]


class ImageTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="onefold-image-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)

    def named_volume(self):
        name = unique_name("state")
        podman("volume", "create", name)
        self.addCleanup(podman, "volume", "rm", "--force", name, check=False)
        return name

    def container(self, options, arguments=()):
        container = Container(IMAGE, options, arguments)
        self.addCleanup(container.remove)
        return container

    def test_says_what_it_is_and_holds_little(self):
        image = json.loads(podman("image", "inspect", IMAGE))[0]
        labels = image["Labels"]
        for name in ("title", "description", "version", "revision"):
            self.assertTrue(labels.get(f"org.opencontainers.image.{name}"), name)
        self.assertEqual(image["Config"]["User"], "7171:7171")
        self.assertLess(image["Size"], IMAGE_BYTES_MAX)
        self.assertIn(labels["org.opencontainers.image.version"], podman("run", "--rm", IMAGE, "--version"))
        with self.assertRaises(Failed):
            podman("run", "--rm", "--entrypoint", "/bin/sh", IMAGE, "-c", "true")

    def test_a_coordinator_needs_no_rights_and_ends_when_told(self):
        state = self.named_volume()
        coordinator = self.container([*LOCKED, "--volume", f"{state}:/var/lib/onefold-coordinator",
                                      "--health-cmd", f"CMD /usr/bin/onefold health {CONTROL_SOCKET}"])
        wait_until("it serves", lambda: coordinator.succeeds("onefold", "health", CONTROL_SOCKET), 30)
        podman("healthcheck", "run", coordinator.name)
        # Commands find it without being told where it is.
        self.assertIn("of1-", coordinator.run("onefold", "fleet", "token", "create"))
        self.assertIn("7171", podman("top", coordinator.name, "huser"))
        podman("stop", "--time", "10", coordinator.name)
        self.assertEqual(coordinator.exit_code(), 0)
        self.assertIn("stopped", coordinator.logs())

    def test_three_capabilities_are_enough_to_dedupe(self):
        volume = Volume(self.folder)
        self.addCleanup(volume.close)
        for name in ("a", "b"):
            volume.write(name, pattern(7, 4 * MIB))
        volume.sync()
        said = podman("run", "--rm", "--user=0:0", *LOCKED, *adding(CAPABILITIES), "--tmpfs=/var/lib/onefold",
                      "--volume", f"{volume.root}:/srv/data", IMAGE, "dedupe", "--progress=none", "/srv/data")
        volume.sync()
        self.assertTrue(volume.same_place("a", "b"), said)

    def test_each_of_them_is_missed_at_once(self):
        def start_without(*missing):
            rights = [name for name in CAPABILITIES if name not in missing]
            done = self.container(["--user=0:0", *LOCKED, *adding(rights), "--tmpfs=/var/lib/onefold-worker"],
                                  ["worker", "--coordinator", "nowhere:7171"])
            wait_until("it refuses", lambda: done.exit_code() is not None, 20)
            self.assertEqual(done.exit_code(), 1)
            return done.logs()
        for name in CAPABILITIES[:2]:
            said = start_without(name)
            self.assertIn(f"CAP_{name} ", said)
            self.assertIn(f"--cap-add {name}", said)
        said = start_without(*CAPABILITIES)
        for name in CAPABILITIES[:2]:
            self.assertIn(f"--cap-add {name}", said)
        # Without this one it works, and says that it is slower.
        self.assertIn("CAP_FOWNER is missing", start_without("FOWNER"))
        # With all of them it only misses its fleet.
        said = start_without()
        self.assertNotIn("CAP_", said)
        self.assertIn("fleet join", said)

    def test_without_options_it_says_what_to_add(self):
        volume = Volume(self.folder)
        self.addCleanup(volume.close)
        volume.write("a", b"x" * MIB)
        said = podman("run", "--rm", "--user=0:0", "--tmpfs=/var/lib/onefold", "--volume", f"{volume.root}:/srv/data",
                      IMAGE, "dedupe", "--progress=none", "/srv/data")
        for name in CAPABILITIES[:2]:
            self.assertIn(f"--cap-add {name}", said)

    def test_a_volume_that_is_read_only_is_named(self):
        volume = Volume(self.folder)
        self.addCleanup(volume.close)
        volume.write("a", b"x" * MIB)
        with self.assertRaises(Failed) as refused:
            podman("run", "--rm", "--user=0:0", *LOCKED, *adding(CAPABILITIES), "--tmpfs=/var/lib/onefold",
                   "--volume", f"{volume.root}:/srv/data:ro", IMAGE, "dedupe", "--progress=none", "/srv/data")
        self.assertIn("read-only", str(refused.exception))


if __name__ == "__main__":
    reason = why_no_image()
    if reason:
        print(f"SKIP: image: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
