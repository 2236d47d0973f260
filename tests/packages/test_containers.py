#!/usr/bin/env python3
"""A fleet of containers, on real btrfs: what happens to containers, happens to it.

One story, told in the order of the methods' names: each goes on where the one before it stopped.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "btrfs")]

from container_fleet import ContainerFleet, newer_image
from containers import podman, wait_until
from image import why_no_image
from volume import MIB

FILES = int(os.environ.get("ONEFOLD_TEST_FILES", "500000"))
FILES_A_FOLDER = 1000
FILE_BYTES = 4096


def many_small_files(volume, count):
    """Each with an extent of its own; every second one is the copy of another."""
    block = os.urandom(FILE_BYTES)
    for number in range(count):
        if number % FILES_A_FOLDER == 0:
            folder = volume.folder_at(f"many/{number // FILES_A_FOLDER}")
        content = (number // 2).to_bytes(8, "big") + block[8:]
        fd = os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT)
        os.write(fd, content)
        os.close(fd)
    volume.sync()


def peak_memory(container):
    """Bytes of its own that the container's process has had at most."""
    pid = podman("inspect", "--format", "{{.State.Pid}}", container.name).strip()
    status = pathlib.Path("/proc", pid, "status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


class ContainersTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="onefold-containers-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.fleet = ContainerFleet(cls.folder)
        cls.addClassCleanup(cls.fleet.close)
        cls.nas1 = cls.fleet.add_worker("nas1")
        cls.nas2 = cls.fleet.add_worker("nas2")
        cls.fleet.wait_connected()

    def assert_dedupes(self, seed):
        for worker in self.fleet.workers:
            worker.make_duplicates(seed)
        said = self.fleet.run_everything()
        for worker in self.fleet.workers:
            self.assertTrue(worker.is_folded(seed), f"{worker.name}: {said}\n{worker.container.logs()[-2000:]}")

    def test_1_it_dedupes(self):
        self.assert_dedupes(1)

    def test_2_each_is_restarted(self):
        podman("restart", "--time", "15", self.fleet.coordinator.name)
        wait_until("the coordinator serves", self.fleet.is_serving, 30)
        self.fleet.wait_connected()
        self.assert_dedupes(2)
        podman("restart", "--time", "15", self.nas1.container.name)
        self.fleet.wait_connected()
        self.assert_dedupes(3)

    def test_3_one_is_killed(self):
        podman("kill", self.nas1.container.name)
        podman("start", self.nas1.container.name)
        podman("kill", self.fleet.coordinator.name)
        podman("start", self.fleet.coordinator.name)
        wait_until("the coordinator serves", self.fleet.is_serving, 60)
        self.fleet.wait_connected()
        self.assert_dedupes(4)

    def test_4_one_is_paused(self):
        self.fleet.wait_idle()
        podman("pause", self.nas2.container.name)
        for worker in self.fleet.workers:
            worker.make_duplicates(5)
        self.fleet.ask("run", "now", "--selector", "all")
        wait_until("the other one works", lambda: self.nas1.is_folded(5), 60)
        self.assertFalse(self.nas2.is_folded(5))
        podman("unpause", self.nas2.container.name)
        wait_until("it works when it wakes up", lambda: self.nas2.is_folded(5), 180)

    def test_5_the_network_is_cut(self):
        self.fleet.wait_idle()
        podman("network", "disconnect", self.fleet.network, self.nas2.container.name)
        self.nas2.make_duplicates(6)
        self.fleet.ask("run", "now", "--selector", "all")
        podman("network", "connect", self.fleet.network, self.nas2.container.name)
        wait_until("it works when it is back", lambda: self.nas2.is_folded(6), 240)

    def test_6_images_are_replaced_and_state_is_kept(self):
        newer = newer_image()
        self.fleet.wait_connected()
        before = {name: host["host_id"] for name, host in self.fleet.hosts().items()}
        runs = {run["run_id"] for run in self.fleet.ask_json("run", "list", "--limit", "1000")["runs"]}
        podman("stop", "--time", "15", self.fleet.coordinator.name)
        self.assertEqual(self.fleet.coordinator.exit_code(), 0)
        self.fleet.coordinator.remove()
        self.fleet.start_coordinator(newer)
        for worker in self.fleet.workers:
            podman("stop", "--time", "15", worker.container.name)
            self.assertEqual(worker.container.exit_code(), 0)
            worker.container.remove()
            worker.start(newer)
        self.fleet.wait_connected()
        self.assertEqual({name: host["host_id"] for name, host in self.fleet.hosts().items()}, before)
        after = {run["run_id"] for run in self.fleet.ask_json("run", "list", "--limit", "1000")["runs"]}
        self.assertLessEqual(runs, after)
        self.assert_dedupes(7)

    def test_7_a_worker_with_256_mib_on_many_files(self):
        small = self.fleet.add_worker("small", options=["--memory=256m", "--memory-swap=256m"], size="8G",
                                      mount="max_inline=0,noatime")
        many_small_files(small.volume, FILES)
        used = small.volume.used_data()
        self.fleet.wait_connected()
        said = self.fleet.ask("run", "now", "--selector", "all", "--watch", check=False)
        freed = used - small.volume.used_data()
        peak = peak_memory(small.container)
        print(f"{FILES} files: {freed / MIB:.0f} MiB freed, {peak / MIB:.0f} MiB of memory at most", flush=True)
        self.assertIsNone(small.container.exit_code(), small.container.logs()[-2000:])
        self.assertGreater(freed, 0.9 * FILES / 2 * FILE_BYTES, said[-2000:])


if __name__ == "__main__":
    reason = why_no_image()
    if reason:
        print(f"SKIP: containers: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2, failfast=True)
