#!/usr/bin/env python3
"""`onefold worker` with a real coordinator on real volumes: orders, ends of processes, and what no
order may do."""

import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
import fleet
from manifest import differences, layout, manifest
from volume import KIB, MIB, pattern


def fill(volume, folder, count=200, size=64 * KIB, seed=0):
    """`count` pairs of files below `folder`."""
    for number in range(count):
        data = pattern(seed + number, size)
        for copy in ("a", "b"):
            volume.write(f"{folder}/{copy}/{number}", data)
    volume.sync()
    return count * size


SLOW = "name: slow\nselect: all\nthrottle:\n  operations_per_second: 20\n"


class WorkerTest(fleet.FleetTest):

    def test_from_order_to_freed(self):
        volume = self.volume()
        expected = fill(volume, "data")
        before, used = manifest(volume.root), volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        run = self.run_now(volume)
        run = self.await_run(run["run_id"], "completed")
        self.assertEqual(run["status"]["figures"]["bytes_freed"], expected, run)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertEqual(differences(before, manifest(volume.root)), [])
        # The next one finds nothing to do.
        run = self.await_run(self.run_now(volume)["run_id"], "completed")
        self.assertEqual(run["status"]["figures"]["dedupe_requests"], 0, run)
        self.stop(self.worker)
        self.stop(self.coordinator)

    def test_dry_run_changes_nothing(self):
        volume = self.volume()
        expected = fill(volume, "data", count=20)
        used = volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        run = self.await_run(self.run_now(volume, "--dry-run")["run_id"], "completed")
        self.assertEqual(run["status"]["figures"]["bytes_expected"], expected, run)
        self.assertEqual(run["status"]["figures"]["dedupe_requests"], 0, run)
        self.assertEqual(volume.used_data(), used)

    # Whoever has the coordinator must not have the hosts.
    def test_orders_outside_of_what_is_allowed_touch_nothing(self):
        volume = self.volume()
        inside = fill(volume, "inside", count=20)
        fill(volume, "outside", count=20, seed=1000)
        os.symlink(volume.path("outside"), volume.path("inside/link"))
        lay = layout(volume.root)
        used = volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.path("inside")])
        for root in ("./outside", volume.path("outside"), volume.path("inside/link"), "/etc"):
            self.apply_policy(f"name: p\nselect: all\nroots: [\"{root}\"]\n")
            run = self.await_run(self.run_now(volume)["run_id"], "failed")
            self.assertIn("allow", run["status"]["message"], run)
            self.assertEqual(volume.used_data(), used, root)
        # All of the volume is asked for: what is allowed is done.
        self.apply_policy(f"name: p\nselect: all\nroots: [\"/\", \"{volume.root}\"]\n")
        run = self.await_run(self.run_now(volume)["run_id"], "completed", "incomplete")
        self.assertEqual(run["status"]["figures"]["bytes_freed"], inside, run)
        self.assert_untouched(volume, [name for name in lay if "outside" in str(name)], lay)

    def test_a_killed_worker_goes_on(self):
        volume = self.volume()
        expected = fill(volume, "data")
        before, used = manifest(volume.root), volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy(SLOW)
        run = self.run_now(volume)
        self.await_requests(run["run_id"], 20)
        self.kill(self.worker)
        self.start_worker([volume.root])
        run = self.await_run(run["run_id"], "completed")
        # What the killed part had freed nobody knows.
        self.assertIsNone(run["status"]["figures"]["bytes_freed"], run)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertEqual(differences(before, manifest(volume.root)), [])

    def test_a_killed_coordinator_goes_on(self):
        volume = self.volume()
        expected = fill(volume, "data")
        used = volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy(SLOW)
        run = self.run_now(volume)
        self.await_requests(run["run_id"], 20)
        self.kill(self.coordinator)
        self.start_coordinator()
        run = self.await_run(run["run_id"], "completed", seconds=240)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertEqual(run["status"]["figures"]["bytes_freed"], expected, run)

    def test_paused_resumed_cancelled(self):
        volume = self.volume()
        expected = fill(volume, "data")
        used = volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy(SLOW)
        run = self.run_now(volume)
        self.await_requests(run["run_id"], 5)
        self.ask("run", "pause", run["run_id"])
        self.await_run(run["run_id"], "paused")
        # A held run does nothing.
        held = volume.used_data()
        time.sleep(1)
        self.assertEqual(volume.used_data(), held)
        self.assertGreater(held, used - expected)
        self.ask("run", "resume", run["run_id"])
        done = self.await_run(run["run_id"], "completed")
        self.assertEqual(done["status"]["figures"]["bytes_freed"], expected, done)
        self.assertEqual(used - volume.used_data(), expected)

        fill(volume, "more", seed=5000)
        run = self.run_now(volume)
        self.await_requests(run["run_id"], 5)
        self.ask("run", "cancel", run["run_id"])
        run = self.await_run(run["run_id"], "cancelled")
        self.assertGreater(run["status"]["figures"]["bytes_freed"], 0, run)

    def test_sigterm_in_the_middle(self):
        volume = self.volume()
        expected = fill(volume, "data")
        used = volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy(SLOW)
        run = self.run_now(volume)
        self.await_requests(run["run_id"], 10)
        self.stop(self.worker)
        freed = used - volume.used_data()
        self.assertLess(freed, expected)
        self.start_worker([volume.root])
        run = self.await_run(run["run_id"], "completed")
        # It was put down in order, so all of it is known.
        self.assertEqual(run["status"]["figures"]["bytes_freed"], expected, run)

    def test_without_a_coordinator(self):
        volume = self.volume()
        path = self.write_config("worker.yaml", {
            "coordinator": f"unix:{self.socket}", "allow": [volume.root],
            "state_directory": os.path.join(self.folder, "worker")})
        worker = self.service("worker", "--config", path, log="worker.log")
        self.wait_for("it says so", lambda: "does not answer" in self.log_text("worker.log"))
        time.sleep(3)
        self.assertEqual(self.log_text("worker.log").count("does not answer"), 1)
        self.start_coordinator()
        self.wait_for("it is known", self.hosts)
        self.stop(worker)

    def test_what_is_refused(self):
        volume = self.volume()
        self.start_coordinator()
        self.start_worker([volume.root])
        path = os.path.join(self.folder, "worker.yaml")
        second = subprocess.run([case.binary(), "worker", "--config", path], capture_output=True,
                                text=True, timeout=30)
        self.assertEqual(second.returncode, 1, second)
        self.assertIn("in use", second.stderr)
        unprivileged = subprocess.run(
            ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", case.binary(),
             "worker", "--config", path, "--state-directory", os.path.join(self.folder, "other")],
            capture_output=True, text=True, timeout=30)
        self.assertEqual(unprivileged.returncode, 1, unprivileged)
        self.assertIn("CAP_SYS_ADMIN", unprivileged.stderr)
        remote = subprocess.run(
            [case.binary(), "worker", "--coordinator", "192.0.2.1:7171", "--state-directory",
             os.path.join(self.folder, "third")], capture_output=True, text=True, timeout=30)
        self.assertEqual(remote.returncode, 1, remote)
        self.assertIn("fleet join", remote.stderr)

    def test_standalone_with_a_schedule(self):
        volume = self.volume()
        expected = fill(volume, "data", count=20)
        used = volume.used_data()
        path = self.write_config("onefold.yaml", {
            "listen": [f"unix:{self.socket}"], "allow": [volume.root], "schedule": "* * * * *",
            "state_directory": os.path.join(self.folder, "standalone")})
        process = self.service("standalone", "--config", path, log="worker.log")
        self.wait_for("freed by the schedule", lambda: used - volume.used_data() == expected, 150)
        self.stop(process)


if __name__ == "__main__":
    case.main()
