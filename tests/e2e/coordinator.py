"""A coordinator process and the calls that tests make to it, over Debian's python3-grpcio."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid as pyuuid

import grpc

BIN = os.environ.get("ONEFOLD_BIN", "onefold")
TREE = pathlib.Path(__file__).resolve().parents[2]
SLOW = 3 if os.environ.get("ONEFOLD_SANITIZE") else 1

# The messages, generated here: it takes less than a tenth of a second.
_generated = tempfile.TemporaryDirectory(prefix="onefold-protos-")
subprocess.run(["protoc", f"--proto_path={TREE}/proto", f"--python_out={_generated.name}",
                *map(str, sorted((TREE / "proto/onefold/v1").glob("*.proto")))], check=True)
sys.path.insert(0, _generated.name)
from onefold.v1 import admin_service_pb2 as admin  # noqa: E402
from onefold.v1 import coordinator_service_pb2 as service  # noqa: E402
from onefold.v1 import extents_pb2 as extents  # noqa: E402
from onefold.v1 import fleet_pb2  # noqa: E402
from onefold.v1 import volume_pb2 as volume  # noqa: E402

BLOCK = 4096


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Coordinator:
    """One process of `onefold coordinator`, started with the given arguments."""

    def __init__(self, state, *arguments, listen=None, env=None):
        self.state = str(state)
        self.address = listen or f"127.0.0.1:{free_port()}"
        self.log = tempfile.TemporaryFile()
        if not any(str(argument).startswith("--web-listen") for argument in arguments):
            arguments = ("--web-listen=off", *arguments)  # many run at a time
        self.process = subprocess.Popen(
            [BIN, "coordinator", "--config=/dev/null", "--state-directory", self.state,
             "--listen", self.address, *arguments],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env={**os.environ, **(env or {})})
        self.channel = None

    @classmethod
    def at(cls, address):
        """Only the calls: to an address where somebody else serves."""
        self = cls.__new__(cls)
        self.address = address
        self.channel = self.process = None
        return self

    def output(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def wait_ready(self, seconds=20):
        deadline = time.monotonic() + seconds * SLOW
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the coordinator ended: {self.output()}")
            if "serving" in self.output():
                return self
            time.sleep(0.05)
        raise AssertionError(f"the coordinator does not serve: {self.output()}")

    def health(self, *arguments):
        return subprocess.run([BIN, "health", *(arguments or [self.address])], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=30 * SLOW).returncode

    def dial(self):
        if self.channel is None:
            self.channel = grpc.insecure_channel(self.address)
        return self.channel

    def call(self, method, request, more=b"", timeout=20):
        """A unary call with `more` bytes behind the request; raises grpc.RpcError."""
        messages, name = (service, "CoordinatorService")
        if not hasattr(service, method + "Response"):
            messages, name = (admin, "AdminService")
        stub = self.dial().unary_unary(
            f"/onefold.v1.{name}/{method}",
            request_serializer=lambda message: message.SerializeToString() + more,
            response_deserializer=getattr(messages, method + "Response").FromString)
        return stub(request, timeout=timeout * SLOW)

    def give_run(self, uuid, worker="w"):
        """The host `worker` reports the volume, and has a run there when this returns."""
        mounted = fleet_pb2.MountedVolume(volume_uuid=uuid, mount_paths=["/srv"], allowed_roots=["/srv"],
                                          size_bytes=1 << 30, used_bytes=1 << 29)
        report = service.SyncRequest(worker_id=worker, host=fleet_pb2.HostReport(
            display_name=worker, volumes=[mounted]))
        self.call("Sync", report)
        name = str(pyuuid.UUID(bytes=uuid))
        self.call("StartRuns", admin.StartRunsRequest(volume=name))
        deadline = time.monotonic() + 20 * SLOW
        while not any(order.volume_uuid == uuid for order in self.call("Sync", report).run_orders):
            if time.monotonic() > deadline:
                raise AssertionError(f"no run was given: {self.output()}")
            time.sleep(0.2)

    def upload(self, requests, timeout=60):
        stub = self.dial().stream_stream(
            "/onefold.v1.CoordinatorService/UploadExtents",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=extents.UploadExtentsResponse.FromString)
        return stub(iter(requests), timeout=timeout * SLOW)

    def lease(self, uuid, worker="w"):
        """As sync, with a run before."""
        self.give_run(uuid, worker)
        return self.sync(uuid, worker)

    def sync(self, uuid, worker="w", generation=1000):
        """The order for one volume, with a lease if the worker has a run there."""
        state = volume.VolumeState(
            uuid=uuid, block_bytes=BLOCK, checksum_kind=volume.CHECKSUM_KIND_CRC32C,
            want_lease=True, filesystem_generation=generation)
        request = service.SyncRequest(worker_id=worker, volumes=[state])
        return self.call("Sync", request).orders[0]

    def stop(self, sig=signal.SIGTERM, seconds=20):
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(seconds * SLOW)

    def close(self):
        if self.channel is not None:
            self.channel.close()
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


def begin(order, uuid, generation=1000):
    """The first message of an upload."""
    lease = volume.Lease(volume_uuid=uuid, epoch=order.lease.epoch)
    return extents.UploadExtentsRequest(begin=extents.BeginUpload(
        lease=lease, incarnation=order.incarnation, kind=extents.UPLOAD_KIND_SCAN,
        target_generation=generation))


def batch(first, count, seed=1):
    """A batch of `count` extents of 16 blocks, the first 16 blocks behind `first`, all different."""
    rows = extents.ExtentColumns(count=count)
    for i in range(count):
        address = 16 + first + 16 * i  # nothing lies at 0
        rows.address_delta_blocks.append(address if i == 0 else 16)
        rows.length_blocks.append(16)
        rows.generation.append(7)
        rows.head_offset_blocks.append(0)
        rows.checksum_states.append(extents.CHECKSUM_STATE_UNSPECIFIED)
        rows.anchor_counts.append(0)
    rows.digests = b"".join(((first + 16 * i) * 2654435761 + seed).to_bytes(8, "little") for i in range(count))
    rows.heads = b"".join(((first + 16 * i) * 40503 + seed * 7919).to_bytes(8, "little") for i in range(count))
    return extents.UploadExtentsRequest(batch=extents.ExtentBatch(
        rows=rows, complete_below_address=(16 + first + 16 * count) * BLOCK))
