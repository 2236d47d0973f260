"""A coordinator and a worker as processes, for tests of the fleet on one machine.

    class MyTest(fleet.FleetTest):
        def test_it(self):
            volume = self.volume()
            self.start_coordinator()
            self.start_worker(allow=[volume.root])
            run = self.run_now(volume)
            run = self.await_run(run["run_id"], "completed")

They speak over a Unix socket, so nothing has to be joined. Logs are in the test's folder.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case

ENDED = {"completed", "incomplete", "cancelled", "failed"}


def config_text(settings):
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items())


class FleetTest(case.OnefoldTest):

    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.folder, "coordinator.sock")
        self.coordinator = None
        self.worker = None

    # Processes.

    def service(self, *arguments, log, **options):
        with open(os.path.join(self.folder, log), "ab") as file:
            process = subprocess.Popen([case.binary(), *arguments], stdin=subprocess.DEVNULL,
                                       stdout=file, stderr=file, **options)
        self.addCleanup(self._end_service, process)
        return process

    @staticmethod
    def _end_service(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def log_text(self, log):
        return pathlib.Path(self.folder, log).read_text(errors="replace")

    def write_config(self, name, settings):
        path = os.path.join(self.folder, name)
        pathlib.Path(path).write_text(config_text(settings))
        return path

    def start_coordinator(self, **settings):
        path = self.write_config("coordinator.yaml", {
            "listen": [f"unix:{self.socket}"], "web_listen": "off",
            "state_directory": os.path.join(self.folder, "coordinator"), **settings})
        self.coordinator = self.service("coordinator", "--config", path, log="coordinator.log")
        self.wait_for("the coordinator serves",
                      lambda: self.cli("fleet", "list", check=False).returncode == 0)

    def start_worker(self, allow, **settings):
        path = self.write_config("worker.yaml", {
            "coordinator": f"unix:{self.socket}", "allow": list(allow),
            "state_directory": os.path.join(self.folder, "worker"), "name": "here", **settings})
        self.worker = self.service("worker", "--config", path, log="worker.log")
        self.wait_for("the worker is known", lambda: any(
            host["state"] == "connected" and host["volumes"] for host in self.hosts()))

    def stop(self, process, limit=10):
        """SIGTERM; the process must end by itself in time."""
        since = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertLess(time.monotonic() - since, limit)

    def kill(self, process):
        process.kill()
        process.wait()

    # What people type.

    def cli(self, *arguments, check=True):
        done = subprocess.run([case.binary(), *arguments, "--json"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60,
                              env=dict(os.environ, ONEFOLD_COORDINATOR=f"unix:{self.socket}"))
        if check:
            self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def ask(self, *arguments):
        return json.loads(self.cli(*arguments).stdout)

    def hosts(self):
        return self.ask("fleet", "list")["hosts"]

    def apply_policy(self, text):
        path = os.path.join(self.folder, "policy.yaml")
        pathlib.Path(path).write_text(text)
        return self.ask("policy", "apply", path, "--yes")

    def run_now(self, volume, *options):
        uuid = volume.uuid()
        return self.ask("run", "now", uuid, *options)["runs"][0]

    def find_run(self, run_id):
        for run in self.ask("run", "list")["runs"]:
            if run["run_id"] == run_id:
                return run
        return None

    # Waiting.

    def wait_for(self, what, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.1)
        logs = "".join(f"--- {log.name}\n{log.read_text(errors='replace')}"
                       for log in sorted(pathlib.Path(self.folder).glob("*.log")))
        self.fail(f"not within {seconds} s: {what}\n{logs}")

    def await_run(self, run_id, *states, seconds=120):
        """Waits until the run is in one of the states; in another one of the ended ones it never
        will be."""
        def arrived():
            run = self.find_run(run_id)
            if run and run["state"] in ENDED and run["state"] not in states:
                self.fail(f"{run}\n{self.log_text('worker.log')}")
            return run if run and run["state"] in states else None
        return self.wait_for(f"run {run_id} is {states}", arrived, seconds)

    def await_requests(self, run_id, count):
        """Waits until the worker has asked the kernel so often."""
        def arrived():
            run = self.find_run(run_id)
            figures = ((run or {}).get("status") or {}).get("figures") or {}
            return (figures.get("dedupe_requests") or 0) >= count
        self.wait_for(f"{count} requests of run {run_id}", arrived)
