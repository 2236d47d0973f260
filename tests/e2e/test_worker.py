#!/usr/bin/env python3
"""`onefold worker` with a real coordinator on real volumes: orders, ends of processes, and what no
order may do."""

import datetime
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
import fleet
import skew
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

    def serve(self, count=200):
        """A volume with `count` pairs of files, a coordinator, and a worker that may do all of it.
        Returns the volume, the bytes that a run frees, and those that are used."""
        volume = self.volume()
        expected = fill(volume, "data", count=count)
        used = volume.used_data()
        self.start_coordinator()
        self.start_worker([volume.root])
        return volume, expected, used

    def serve_slowly(self, requests):
        """The same, and a slow run of it that has asked the kernel `requests` times; also returned."""
        volume, expected, used = self.serve()
        self.apply_policy(SLOW)
        run = self.run_now(volume)
        self.await_requests(run["run_id"], requests)
        return volume, expected, used, run

    def test_from_order_to_freed(self):
        volume, expected, used = self.serve()
        before = manifest(volume.root)
        run = self.await_run(self.run_now(volume)["run_id"], "completed")
        self.assertEqual(run["status"]["figures"]["bytes_freed"], expected, run)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertEqual(differences(before, manifest(volume.root)), [])
        # The next one finds nothing to do.
        run = self.await_run(self.run_now(volume)["run_id"], "completed")
        self.assertEqual(run["status"]["figures"]["dedupe_requests"], 0, run)
        self.assertEqual(run["status"]["figures"]["extents_scanned"], 0, run)
        # --full looks at everything again, each time it is asked for.
        for _ in range(2):
            run = self.await_run(self.run_now(volume, "--full")["run_id"], "completed")
            self.assertGreaterEqual(run["status"]["figures"]["extents_scanned"], 200, run)
        self.stop(self.worker)
        self.stop(self.coordinator)

    def test_dry_run_changes_nothing(self):
        volume, expected, used = self.serve(count=20)
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
        volume, expected, used, run = self.serve_slowly(requests=20)
        before = manifest(volume.root)
        self.kill(self.worker)
        self.start_worker([volume.root])
        run = self.await_run(run["run_id"], "completed")
        # What the killed part had freed nobody knows.
        self.assertIsNone(run["status"]["figures"]["bytes_freed"], run)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertEqual(differences(before, manifest(volume.root)), [])

    def test_a_killed_coordinator_goes_on(self):
        volume, expected, used, run = self.serve_slowly(requests=20)
        self.kill(self.coordinator)
        self.start_coordinator()
        run = self.await_run(run["run_id"], "completed", seconds=240)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertEqual(run["status"]["figures"]["bytes_freed"], expected, run)

    def test_paused_resumed_cancelled(self):
        volume, expected, used, run = self.serve_slowly(requests=5)
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
        volume, expected, used, run = self.serve_slowly(requests=10)
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

    # A coordinator that hangs must not keep a host from shutting down.
    def test_sigterm_while_the_coordinator_hangs(self):
        self.serve_slowly(requests=5)
        self.coordinator.send_signal(signal.SIGSTOP)
        time.sleep(1)
        self.stop(self.worker, limit=12)

    def test_the_window_ends(self):
        volume, _, _ = self.serve(count=400)
        now = datetime.datetime.now(datetime.timezone.utc)
        if now.second > 45:  # too little is left of this minute
            time.sleep(61 - now.second)
            now = datetime.datetime.now(datetime.timezone.utc)
        window = f"{now - datetime.timedelta(hours=1):%H:%M}-{now + datetime.timedelta(minutes=1):%H:%M}"
        slow = "name: slow\nselect: all\ntime_zone: UTC\nthrottle:\n  operations_per_second: 4\n"
        self.apply_policy(slow + f"window: \"{window}\"\nschedule: \"* * * * *\"\n")
        run = self.wait_for("the schedule makes a run", lambda: next(
            (run for run in self.ask("run", "list")["runs"] if run["policy"]), None), 90)
        self.wait_for("the window ends", lambda: self.find_run(run["run_id"])["state"] == "waiting",
                      90)
        held = volume.used_data()
        time.sleep(2)
        self.assertEqual(volume.used_data(), held)

    def test_volumes_come_and_go(self):
        volume = self.volume()
        self.start_coordinator()
        self.start_worker([volume.root])
        other = self.volume(mkfs=["-L", "later"])
        labels = lambda: [v["label"] for host in self.hosts() for v in host["volumes"]]
        self.wait_for("the new one is told of", lambda: "later" in labels(), 15)
        other.unmount()
        self.wait_for("it is gone", lambda: "later" not in labels(), 15)

    # Each of two coordinators has some of the volumes, and the worker speaks with both.
    def test_shards(self):
        volumes = [self.volume(size="256M") for _ in range(4)]
        for number, volume in enumerate(volumes):
            fill(volume, "data", count=20, seed=number * 100)
        used = [volume.used_data() for volume in volumes]
        sockets = [f"unix:{self.folder}/{name}.sock" for name in "ab"]
        for index, name in enumerate("ab"):
            path = self.write_config(f"{name}.yaml", {
                "listen": [sockets[index]], "shards": sockets, "shard_index": index,
                "state_directory": os.path.join(self.folder, name)})
            self.service("coordinator", "--config", path, log=f"{name}.log")
        self.socket = sockets[0].removeprefix("unix:")
        self.wait_for("it serves",
                      lambda: self.cli("fleet", "list", check=False).returncode == 0)
        self.start_worker([volume.root for volume in volumes], coordinator=sockets[0])
        served = []
        for socket in sockets:
            self.socket = socket.removeprefix("unix:")
            self.wait_for("the worker is known", self.hosts)
            here = {known["uuid"] for known in self.hosts()[0]["volumes"]}
            for volume in volumes:
                if volume.uuid() in here:
                    served.append(volume)
                    self.run_now(volume)
        self.assertEqual(sorted(v.root for v in served), sorted(v.root for v in volumes),
                         "each is served by one coordinator")
        self.wait_for("all are deduped", lambda: all(
            before - volume.used_data() == 20 * 64 * KIB for before, volume in zip(used, volumes)))

    # A newer coordinator with an older worker, and the other way round: every message of both sides has
    # fields that the other one does not know.
    def test_versions_differ(self):
        volume = self.volume()
        expected = fill(volume, "data", count=20)
        used = volume.used_data()
        self.start_coordinator()
        newer = skew.Skew(skew.path_beside(self.socket), self.socket)
        self.addCleanup(newer.close)
        self.start_worker([volume.root], coordinator=f"unix:{skew.path_beside(self.socket)}")
        run = self.await_run(self.run_now(volume)["run_id"], "completed")
        self.assertEqual(run["status"]["figures"]["bytes_freed"], expected, run)
        self.assertEqual(used - volume.used_data(), expected)
        self.assertGreater(newer.message_count, 10)

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
