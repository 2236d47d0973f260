#!/usr/bin/python3
"""`onefold coordinator` as its users meet it: configuration, addresses, health, signals, kill -9, a
full disk, shards. With Debian's python3-grpcio, so run by Debian's Python."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
try:
    import grpc
except ImportError:
    print("SKIP: python3-grpcio is not installed")
    sys.exit(77)

import coordinator as fleet
from coordinator import BIN, BLOCK, SLOW, Coordinator, batch, begin, service

UUID = bytes(range(16))
OTHER = bytes(range(100, 116))


class CoordinatorTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="onefold-coordinator-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def start(self, *arguments, state="state", **kwargs):
        started = Coordinator(os.path.join(self.folder, state), *arguments, **kwargs)
        self.addCleanup(started.close)
        return started

    def serve(self, *arguments, **kwargs):
        return self.start(*arguments, **kwargs).wait_ready()

    def run_coordinator(self, *arguments, env=None):
        return subprocess.run([BIN, "coordinator", *arguments], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=30 * SLOW, env={**os.environ, **(env or {})})

    def assert_code(self, code, function, *arguments):
        with self.assertRaises(grpc.RpcError) as raised:
            function(*arguments)
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        return raised.exception


class ConfigTest(CoordinatorTest):

    def test_errors_name_file_and_line(self):
        file = self.write("c.yaml", "# mine\nlitsen: [127.0.0.1:1]\nruns_at_once: none\n")
        for command in (["--check-config"], ["--print-config"], []):
            run = self.run_coordinator("--config", file, *command)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"{file}:2: there is no setting 'litsen'; did you mean 'listen'?", run.stderr)
            self.assertIn(f"{file}:3: runs_at_once: 'none' is no whole number", run.stderr)
            self.assertEqual(run.stdout, "")

    def test_settings_must_fit_together(self):
        file = self.write("c.yaml", "shards: [a:1, b:1]\nshard_index: 2\n")
        run = self.run_coordinator("--config", file, "--check-config")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{file}:2: shard_index: 2: there are only 2", run.stderr)

    def test_layers_and_origins(self):
        file = self.write("c.yaml", "reflection: no\nruns_at_once: 3\nlog_level: debug\n")
        run = self.run_coordinator("--config", file, "--runs-at-once=5", "--print-config",
                                   env={"ONEFOLD_LOG_LEVEL": "error", "ONEFOLD_LISTNE": "x"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, rf"reflection: false +# {re.escape(file)}:1\n")
        self.assertRegex(run.stdout, r"runs_at_once: 5 +# --runs-at-once\n")
        self.assertRegex(run.stdout, r"log_level: error +# ONEFOLD_LOG_LEVEL\n")
        self.assertRegex(run.stdout, r"state_directory: /var/lib/onefold-coordinator +# default\n")
        self.assertIn("ONEFOLD_LISTNE belongs to no setting; did you mean 'ONEFOLD_LISTEN'?", run.stderr)
        again = self.run_coordinator("--config", self.write("again.yaml", run.stdout), "--check-config")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_a_file_that_is_named_must_be_there(self):
        run = self.run_coordinator("--config", self.path("none.yaml"), "--check-config")
        self.assertEqual(run.returncode, 1)
        self.assertIn("none.yaml", run.stderr)
        self.assertEqual(self.run_coordinator("--check-config").returncode, 0)


class ServiceTest(CoordinatorTest):

    def test_health_and_a_clean_end(self):
        served = self.serve()
        self.assertEqual(served.health(), 0)
        self.assertEqual(served.stop(), 0)
        self.assertEqual(served.health(), 1)
        self.assertRegex(served.output(), r"info: serving version=\S+ addresses=\"?127")

    def test_sockets_are_private(self):
        path = self.path("run/sock")
        served = self.serve(listen=f"unix:{path}")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(served.state).st_mode), 0o700)
        self.assertEqual(served.health(), 0)
        served.lease(UUID)

    def test_an_address_in_use(self):
        served = self.serve()
        second = self.start(state="other", listen=served.address)
        self.assertEqual(second.process.wait(20 * SLOW), 1)
        self.assertIn(f"cannot listen on {served.address}", second.output())

    def test_one_process_a_state_directory(self):
        first = self.serve()
        second = self.start()
        self.assertEqual(second.process.wait(20 * SLOW), 1)
        self.assertIn(f"in use by process {first.process.pid}", second.output())

    # Whoever has open streams must not keep a coordinator from being restarted.
    def test_sigterm_ends_open_streams(self):
        served = self.serve()
        order = served.lease(UUID)

        def endless():
            yield begin(order, UUID)
            yield batch(0, 10)
            time.sleep(3600)

        answers = served.dial().stream_stream(
            "/onefold.v1.CoordinatorService/UploadExtents",
            request_serializer=lambda message: message.SerializeToString())(endless())
        next(answers)
        start = time.monotonic()
        served.process.send_signal(signal.SIGTERM)
        self.assertEqual(served.process.wait(30 * SLOW), 0, served.output())
        self.assertLess(time.monotonic() - start, 10 * SLOW)
        answers.cancel()

    # Balancers and monitors hear of it before calls begin to fail.
    def test_watchers_are_told_of_the_end(self):
        served = self.serve()
        watch = served.dial().unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=60 * SLOW)
        self.assertEqual(next(watch), b"\x08\x01")  # SERVING
        served.process.send_signal(signal.SIGTERM)
        self.assertEqual(next(watch), b"\x08\x02")  # NOT_SERVING
        watch.cancel()
        self.assertEqual(served.process.wait(20 * SLOW), 0)

    def test_state_survives_kill(self):
        served = self.serve()
        order = served.lease(UUID, worker="first")
        answers = list(served.upload([begin(order, UUID), batch(0, 1000),
                                      fleet.extents.UploadExtentsRequest(end=fleet.extents.EndUpload())]))
        self.assertEqual(answers[-1].extent_count, 1000)
        served.stop(signal.SIGKILL)
        again = self.serve()
        order_after = again.sync(UUID, worker="first")
        self.assertEqual(order_after.incarnation, order.incarnation)
        self.assertEqual(order_after.extent_count, 1000)
        self.assertEqual(order_after.scanned_generation, 1000)
        self.assertFalse(again.sync(UUID, worker="second").HasField("lease"))

    # Newer workers say more than this coordinator knows.
    def test_unknown_fields_are_tolerated(self):
        served = self.serve()
        unknown = b"\xfa\x3e\x05hello"  # field 1007, 5 bytes
        answer = served.call("GetAssignment", service.GetAssignmentRequest(volume_uuid=UUID), more=unknown)
        self.assertEqual(answer.coordinator_address, "")
        served.call("Sync", service.SyncRequest(worker_id="w", worker_version="99.0"), more=unknown)

    def test_quota(self):
        served = self.serve("--volume-quota-extents=100000")
        order = served.lease(UUID)
        requests = [begin(order, UUID)] + [batch(16 * 8192 * i, 8192) for i in range(40)]
        error = self.assert_code(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: list(served.upload(requests)))
        self.assertIn("quota of 100000 extents", error.details())
        self.assertIn(("grpc-retry-pushback-ms", "30000"), [tuple(pair) for pair in error.trailing_metadata()])
        served.lease(OTHER, worker="other")  # nobody else suffers

    def test_reflection_is_off_by_flag(self):
        method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        listing = b"\x3a\x00"  # list_services

        def services(served):
            stub = served.dial().stream_stream(method)
            return next(stub(iter([listing]), timeout=20 * SLOW))

        self.assertIn(b"onefold.v1.CoordinatorService", services(self.serve()))
        served = self.serve("--no-reflection", state="other")
        self.assert_code(grpc.StatusCode.UNIMPLEMENTED, services, served)

    # As systemd sees it with Type=notify and WatchdogSec=.
    def test_the_service_manager_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(20 * SLOW)
            served = self.start(env={"NOTIFY_SOCKET": self.path("notify"), "WATCHDOG_USEC": "1000000",
                                     "JOURNAL_STREAM": "8:1"})
            self.assertRegex(manager.recv(4096), rb"^READY=1\nSTATUS=serving on 127")
            for _ in range(4):
                self.assertEqual(manager.recv(4096), b"WATCHDOG=1")
            served.process.send_signal(signal.SIGTERM)
            told = manager.recv(4096)
            while told == b"WATCHDOG=1":
                told = manager.recv(4096)
            self.assertEqual(told, b"STOPPING=1")
            self.assertEqual(served.process.wait(20 * SLOW), 0)
            self.assertRegex(served.output(), r"^<6>serving ")

    def test_logs_as_json(self):
        served = self.serve("--log-format=json")
        served.stop()
        lines = [json.loads(line) for line in served.output().splitlines()]
        self.assertEqual([line["message"] for line in lines], ["serving", "stopping", "stopped"])

    def test_large_messages_are_refused(self):
        served = self.serve()
        request = service.SyncRequest(worker_id="w", worker_version="x" * (5 << 20))
        self.assert_code(grpc.StatusCode.RESOURCE_EXHAUSTED, served.call, "Sync", request)
        served.call("Sync", service.SyncRequest(worker_id="w"))


class PlainTextTest(CoordinatorTest):

    def test_plain_text_stays_on_the_machine(self):
        served = self.serve(listen=f"0.0.0.0:{fleet.free_port()}")
        self.assert_code(grpc.StatusCode.UNAVAILABLE, served.sync, UUID)
        identity = os.path.join(served.state, "identity")
        self.assertEqual(stat.S_IMODE(os.stat(identity).st_mode), 0o700)
        self.assertEqual(served.health(f"--trusted={identity}/trusted.pem", served.address), 0)
        self.assertEqual(served.health(served.address), 1)
        served.stop()
        for _ in range(2):  # at every start
            allowed = self.serve("--insecure", listen=served.address)
            self.assertIn("warning: insecure", allowed.output())
            allowed.sync(UUID)
            allowed.stop()


class BackupTest(CoordinatorTest):

    def copy(self, verb, directory, state, code=0):
        run = subprocess.run([BIN, "coordinator", verb, directory, "--state-directory", state],
                             stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=60 * SLOW)
        self.assertEqual(run.returncode, code, run)
        return run

    # The epoch of a lease is in state: after restoring, the next one must follow it.
    def test_backup_of_a_running_coordinator_and_restore(self):
        served = self.serve(listen=f"0.0.0.0:{fleet.free_port()}")
        control = Coordinator.at(f"unix:{served.state}/control.sock")
        self.addCleanup(control.close)
        order = control.lease(UUID, worker="first")
        self.assertEqual(order.lease.epoch, 1)
        backup = self.path("backup")
        self.copy("backup", backup, served.state)
        self.assertEqual(sorted(os.listdir(backup)), ["ONEFOLD_BACKUP", "identity", "state"])
        self.assertEqual(stat.S_IMODE(os.stat(backup).st_mode), 0o700)
        self.assertFalse(os.path.exists(os.path.join(served.state, "checkpoint")))
        self.assertIn("exists", self.copy("backup", backup, served.state, 1).stderr)
        self.assertIn("in use by process", self.copy("restore", backup, served.state, 1).stderr)
        served.stop()
        self.assertIn("state exists", self.copy("restore", backup, served.state, 1).stderr)

        fresh = self.path("fresh")
        self.copy("restore", backup, fresh)
        for name in os.listdir(os.path.join(backup, "identity")):
            with open(os.path.join(backup, "identity", name), "rb") as before, \
                    open(os.path.join(fresh, "identity", name), "rb") as after:
                self.assertEqual(before.read(), after.read(), name)
        again = self.serve(state="fresh")
        after = again.sync(UUID, worker="first")
        self.assertGreaterEqual(after.lease.epoch, 1)
        self.assertNotEqual(after.incarnation, order.incarnation)  # old uploads do not count
        self.assertFalse(again.sync(UUID, worker="second").HasField("lease"))

    def test_backup_of_a_stopped_coordinator(self):
        served = self.serve()
        served.lease(UUID, worker="first")
        served.stop()
        self.copy("backup", self.path("backup"), served.state)
        self.copy("restore", self.path("backup"), self.path("fresh"))
        again = self.serve(state="fresh")
        self.assertFalse(again.sync(UUID, worker="second").HasField("lease"))

    def test_what_is_no_backup_is_refused(self):
        os.mkdir(self.path("empty"))
        self.assertIn("is no backup", self.copy("restore", self.path("empty"), self.path("s"), 1).stderr)
        self.assertIn("no coordinator's state", self.copy("backup", self.path("b"), self.path("s"), 1).stderr)


class ShardTest(CoordinatorTest):

    def test_two_coordinators_divide_the_volumes(self):
        addresses = [f"127.0.0.1:{fleet.free_port()}" for _ in range(2)]
        shards = [self.serve("--shards", addresses[0], "--shards", addresses[1], f"--shard-index={i}",
                             state=f"state{i}", listen=addresses[i]) for i in range(2)]
        counts = [0, 0]
        for number in range(24):
            uuid = (number + 1).to_bytes(16, "big")
            told = [shard.call("GetAssignment", service.GetAssignmentRequest(volume_uuid=uuid))
                    .coordinator_address for shard in shards]
            owner = told.index("")
            counts[owner] += 1
            self.assertEqual(told[1 - owner], addresses[owner])
            order = shards[owner].lease(uuid, worker=f"w{number}")
            error = self.assert_code(grpc.StatusCode.FAILED_PRECONDITION, shards[1 - owner].sync, uuid)
            self.assertIn(addresses[owner], error.details())
            error = self.assert_code(grpc.StatusCode.FAILED_PRECONDITION,
                                     lambda: list(shards[1 - owner].upload([begin(order, uuid)])))
            self.assertIn(addresses[owner], error.details())
        self.assertGreater(min(counts), 3)


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class FullDiskTest(CoordinatorTest):

    def fill(self, mount):
        with open(os.path.join(mount, "filler"), "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(65536)):
                    pass
            except OSError:
                pass

    def patiently(self, served, function, seconds=30):
        """Tries again as a worker does: the database needs a moment to notice that there is space."""
        deadline = time.monotonic() + seconds * SLOW
        while True:
            try:
                return function()
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > deadline:
                    raise AssertionError(served.output()) from error
            time.sleep(1)

    def test_a_full_disk_is_refused_politely_and_recovered_from(self):
        mount = self.path("disk")
        os.mkdir(mount)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96M", "none", mount], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", mount], check=True)
        served = self.serve("--free-space-mib=16", state="disk/state")
        order = served.lease(UUID)
        requests = [begin(order, UUID)] + [batch(16 * 8192 * i, 8192) for i in range(10)]
        end = fleet.extents.UploadExtentsRequest(end=fleet.extents.EndUpload())
        self.assertEqual(list(served.upload([*requests, end]))[-1].extent_count, 10 * 8192)
        self.fill(mount)
        more = [begin(order, UUID)] + [batch(16 * 8192 * i, 8192) for i in range(10, 30)] + [end]
        error = self.assert_code(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: list(served.upload(more)))
        self.assertIn("disk full", error.details())
        self.assertIn(("grpc-retry-pushback-ms", "30000"), [tuple(pair) for pair in error.trailing_metadata()])
        # New leases are written to state: refused while the disk is full, but nothing breaks.
        self.assert_code(grpc.StatusCode.RESOURCE_EXHAUSTED, served.give_run, OTHER, "other")
        self.assertEqual(served.health(), 0)
        os.unlink(os.path.join(mount, "filler"))
        self.assertEqual(served.sync(UUID).extent_count, 10 * 8192)
        again = [begin(order, UUID), *more[1:12], end]
        last = self.patiently(served, lambda: list(served.upload(again)))[-1]
        self.assertEqual(last.extent_count, 21 * 8192)
        self.patiently(served, lambda: served.lease(OTHER, "other"))
        served.stop(signal.SIGKILL)
        self.fill(mount)
        refused = self.start("--free-space-mib=16", state="disk/state")
        self.assertEqual(refused.process.wait(20 * SLOW), 1, refused.output())
        self.assertIn("disk full", refused.output())
        os.unlink(os.path.join(mount, "filler"))
        again = self.serve("--free-space-mib=16", state="disk/state")
        self.assertEqual(again.sync(UUID).extent_count, 21 * 8192)


if __name__ == "__main__":
    unittest.main(verbosity=2)
