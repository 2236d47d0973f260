"""The test case the tests of a fleet are made from: hosts, a coordinator, workers, and what a person
types."""

import json
import os
import subprocess
import sys
import unittest

import case
from fleet_hosts import PORT, HostVolume, Network, end, socket_accepts, wait_until, why_no_hosts
from manifest import differences, manifest
from volume import KIB, command, pattern

PATIENCE = 60 * case.SLOWNESS


class FleetTest(case.OnefoldTest):
    """A fleet whose coordinator lives on the first host; people type on the machine itself, over the
    coordinator's socket."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reason = why_no_hosts()
        if reason:
            raise unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.network = Network(self.folder)
        self._undo.append(self.network.close)
        self.environment = {"HOME": self.folder, "XDG_CONFIG_HOME": os.path.join(self.folder, "config")}
        self.socket = os.path.join(self.folder, "coordinator.sock")
        self.state = os.path.join(self.folder, "coordinator")
        self.coordinator = None
        self.coordinator_host = None
        self.workers = {}  # host name → process
        self.settings = {}  # further ones of the coordinator that fleet_of starts

    # Services.

    def start_coordinator(self, host=None, **settings):
        """On `host`; again with the same settings if none is given."""
        if host:
            self.coordinator_host = host
            settings = {"listen": [f"0.0.0.0:{PORT}", f"unix:{self.socket}"],
                        "public_address": f"{host.address}:{PORT}",
                        "state_directory": self.state, **settings}
            self.write_config(host, "coordinator.yaml", settings)
        host = self.coordinator_host
        self.coordinator = host.start(
            [case.binary(), "coordinator", "--config", os.path.join(host.folder, "coordinator.yaml")],
            log="coordinator.log")
        wait_until("the coordinator serves", lambda: self.serves(self.coordinator), PATIENCE)

    def serves(self, process):
        self.assertIsNone(process.poll(), self.log(self.coordinator_host, "coordinator.log"))
        return socket_accepts(self.socket) and self.coordinator_host.is_listening()

    @staticmethod
    def write_config(host, name, settings):
        """YAML, of which JSON is a part."""
        with open(os.path.join(host.folder, name), "w", encoding="utf-8") as file:
            for key, value in settings.items():
                file.write(f"{key}: {json.dumps(value)}\n")

    @staticmethod
    def log(host, name):
        with open(os.path.join(host.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def join(self, host, allow=(), at=None, token=None, code=0, directory="worker"):
        """`onefold fleet join` on the host. Returns what it said."""
        token = token or self.token()
        at = at or f"{self.coordinator_host.address}:{PORT}"
        arguments = [case.binary(), "fleet", "join", f"{token}@{at}", "--name", host.name,
                     "--config", os.path.join(host.folder, f"{directory}.yaml"),
                     "--state-directory", os.path.join(host.folder, directory)]
        for path in allow:
            arguments += ["--allow", path]
        done = subprocess.run(host.inside(arguments), capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, f"join: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start_worker(self, host):
        self.workers[host.name] = host.start(
            [case.binary(), "worker", "--config", os.path.join(host.folder, "worker.yaml")],
            log="worker.log")

    def add_worker(self, host, allow, **options):
        self.join(host, allow, **options)
        self.start_worker(host)

    def fleet_of(self, count, **options):
        """A coordinator and `count` hosts with a volume each, all of it allowed. Returns the hosts
        and the volumes."""
        hosts = [self.network.host(f"nas{number}") for number in range(1, count + 1)]
        volumes = [self.host_volume(host, f"data{number}", **options)
                   for number, host in enumerate(hosts, 1)]
        self.start_coordinator(hosts[0], **self.settings)
        for host, volume in zip(hosts, volumes):
            self.add_worker(host, [volume.place])
        self.wait_connected(count)
        return hosts, volumes

    def host_volume(self, host, label, **options):
        volume = HostVolume(host, mkfs=["-L", label], **{"size": "512M", **options})
        self._undo.insert(-1, volume.close)  # after the processes of the host have ended
        return volume

    # What a person types.

    def ask(self, *arguments, code=0, coordinator=None, environment=None, host=None, seconds=PATIENCE):
        """Runs a command of the fleet with --json; returns its last object."""
        full = [case.binary(), *arguments, "--json",
                "--coordinator", coordinator or f"unix:{self.socket}"]
        done = subprocess.run(host.inside(full) if host else full, capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL, timeout=seconds,
                              env={**os.environ, **self.environment, **(environment or {})})
        said = f"{' '.join(full)}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.assertNotIn("Sanitizer", done.stderr, said)
        if code is not None:
            self.assertEqual(done.returncode, code, said)
        lines = done.stdout.splitlines()
        self.assertTrue(lines, said)
        answer = json.loads(lines[-1])
        answer["_said"] = said
        return answer

    def token(self):
        return self.ask("fleet", "token", "create", "--ttl", "10m")["token"]

    def hosts(self):
        return {host["display_name"]: host for host in self.ask("fleet", "list")["hosts"]}

    def wait_connected(self, count):
        return wait_until(f"{count} hosts are connected", lambda: sum(
            host["state"] == "connected" and bool(host["volumes"])
            for host in self.hosts().values()) == count, PATIENCE)

    def start_run(self, *what):
        """`onefold run now`; returns the runs."""
        return self.ask("run", "now", *what)["runs"]

    def run_of(self, run_id):
        runs = [run for run in self.ask("run", "list", "--limit", "1000")["runs"]
                if run["run_id"] == run_id]
        self.assertEqual(len(runs), 1, run_id)
        return runs[0]

    def wait_ended(self, run_id, state="completed", seconds=2 * PATIENCE):
        def ended():
            run = self.run_of(run_id)
            return run if run["ended_at"] else None
        run = wait_until(f"run {run_id} has ended", ended, seconds)
        self.assertEqual(run["state"], state, run)
        return run

    def wait_working(self, run_id):
        """Until the run has begun to free."""
        return wait_until("the run works", lambda: (self.run_of(run_id)["status"] or {}).get(
            "phase") == "fold", PATIENCE)

    def apply(self, text, code=0, dry_run=False):
        path = os.path.join(self.folder, "policy.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.ask("policy", "apply", path, "--dry-run" if dry_run else "--yes", code=code)

    # Data.

    @staticmethod
    def fill(volume, pairs, size=64 * KIB):
        """`pairs` of equal files. Returns the bytes that a run frees."""
        for number in range(pairs):
            for name in ("a", "b"):
                volume.write(f"{name}/{number}", pattern(number, size))
        volume.sync()
        return pairs * size

    def throttled(self, label, requests_per_second):
        """A policy by hand that makes runs slow enough to disturb them."""
        self.apply(f"name: slow-{label}\nselect: label={label}\n"
                   f"throttle: {{threads: 1, operations_per_second: {requests_per_second}}}\n")

    def freed(self, run):
        return run["status"]["figures"]["bytes_freed"]

    def check_freed(self, volume, run, used_before, expected, before=None):
        """The run says what the filesystem says, and nobody's file changed."""
        drop = used_before - volume.used_data()
        self.assertEqual(drop, expected, run)
        self.assertEqual(self.freed(run), expected, run)
        if before is not None:
            self.assertEqual([], differences(before, manifest(volume.root)))


def main():
    reason = case.why_no_volumes() or why_no_hosts()
    if reason:
        print(f"SKIP: {os.path.basename(sys.argv[0])}: {reason}")
        sys.exit(77)
    case.main()


__all__ = ["FleetTest", "PATIENCE", "command", "end", "main"]
