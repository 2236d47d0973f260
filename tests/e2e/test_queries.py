#!/usr/bin/python3
"""Everything a dashboard asks, of a real coordinator with a real worker and volume: before a run,
after it, and from its state directory when nobody serves it. With Debian's python3-grpcio, so run by
Debian's Python."""

import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case

try:
    import grpc
except ImportError:
    print("SKIP: python3-grpcio is not installed")
    sys.exit(77)

import fleet
from coordinator import query
from volume import KIB, pattern

PAIRS = 20
SIZE = 64 * KIB
POLICY = 'name: nightly\nselect: all\nschedule: "0 3 * * *"\nwindow: "02:00-05:00"\n'


class QueriesTest(fleet.FleetTest):

    def setUp(self):
        super().setUp()
        self.channel = None

    def query(self, method, **fields):
        if self.channel is None:
            self.channel = grpc.insecure_channel(f"unix:{self.socket}")
            self.addCleanup(self.channel.close)
        call = self.channel.unary_unary(
            f"/onefold.v1.QueryService/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=getattr(query, method + "Response").FromString)
        return call(getattr(query, method + "Request")(**fields), timeout=20, wait_for_ready=True)

    def refused(self, method, **fields):
        with self.assertRaises(grpc.RpcError) as raised:
            self.query(method, **fields)
        return raised.exception.code(), raised.exception.details()

    def await_census(self, method, **fields):
        """It is taken beside the work, when somebody asks."""
        return self.wait_for(f"{method} was counted", lambda: (
            lambda answer: answer if answer.HasField("time") else None)(self.query(method, **fields)))

    def test_all_of_them(self):
        volume = self.volume()
        for number in range(PAIRS):
            for copy in ("a", "b"):
                volume.write(f"{copy}/{number}", pattern(number, SIZE))
        volume.sync()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy(POLICY)
        uuid = volume.uuid()

        ours = f"uuid = {uuid}"

        # A dry run leaves it in the index: it waits, and its copies are counted. (Asked before, they
        # would have been counted before, and not again so soon.)
        self.await_run(self.run_now(volume, "--dry-run")["run_id"], "completed")
        found = self.query("GetVolume", volume=uuid).volume
        self.assertGreater(found.space.waiting_bytes, 0)
        self.assertEqual(found.space.freed_bytes, 0)
        groups = self.await_census("ListDuplicates", volume=uuid)
        self.assertEqual(groups.group_count, PAIRS)
        self.assertEqual(groups.duplicate_bytes, PAIRS * SIZE)
        self.assertEqual([group.copy_count for group in groups.groups], [2] * PAIRS)

        run = self.await_run(self.run_now(volume)["run_id"], "completed")
        freed = run["status"]["figures"]["bytes_freed"]
        self.assertEqual(freed, PAIRS * SIZE)
        self.assertEqual(self.query("GetSummary", filter=ours).total.freed_bytes, freed)
        self.assertEqual(self.query("GetSummary").total.freed_bytes, freed)
        listed = self.query("ListVolumes", filter=f"freed_bytes = {freed}")
        self.assertEqual([each.uuid for each in listed.volumes], [uuid])
        self.assertEqual(self.query("ListVolumes", filter="freed_bytes = 1").total_count, 0)
        self.assertEqual(listed.volumes[0].last_run.run_id, run["run_id"])
        self.assertEqual(listed.volumes[0].next_policy, "nightly")
        hosts = self.query("QueryHosts", filter="state = connected")
        self.assertEqual([host.display_name for host in hosts.hosts], ["here"])
        first = self.query("QueryRuns", page_size=1)
        self.assertEqual(first.runs[0].run_id, run["run_id"])
        second = self.query("QueryRuns", page_size=1, page_token=first.next_page_token)
        self.assertTrue(second.runs[0].dry_run)
        self.assertEqual(self.query("GetRun", run_id=run["run_id"]).run.status.figures.bytes_freed,
                         freed)
        schedule = self.query("ListSchedule")
        self.assertEqual(len(schedule.entries), 7)
        self.assertTrue(schedule.windows)
        history = self.query("GetHistory", volume=uuid)
        self.assertEqual(history.points[-1].freed_bytes, freed)
        overlap = self.await_census("GetOverlap")
        self.assertEqual(len(overlap.members), 1)
        self.assertEqual(len(overlap.pairs), 0)

        self.assertEqual(self.refused("GetVolume", volume="nowhere")[0], grpc.StatusCode.NOT_FOUND)
        code, words = self.refused("QueryRuns", filter="colour = red")
        self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("no such field", words)

    # A single host without a fleet: whoever may read the state directory may ask while it works.
    def test_a_run_on_a_single_host_is_seen(self):
        volume = self.volume()
        for number in range(2000):
            for copy in ("a", "b"):
                volume.write(f"{copy}/{number}", pattern(number, 16 * KIB))
        volume.sync()
        self.socket = os.path.join(self.state, "control.sock")
        process = self.service("dedupe", "--state", self.state, "--threads=1", volume.root,
                               log="dedupe.log")
        while process.poll() is None and not os.path.exists(self.socket):
            time.sleep(0.001)
        seen = self.query("QueryRuns", filter="active = true").runs[0]
        self.assertEqual(seen.state, 2)  # RUN_STATE_RUNNING
        self.assertEqual(seen.volume_uuid.hex(), volume.uuid().replace("-", ""))
        self.assertEqual(os.stat(self.socket).st_mode & 0o077, 0)
        self.assertEqual(process.wait(timeout=100), 0, self.log_text("dedupe.log"))
        self.assertFalse(os.path.exists(self.socket))

    # What is not known is absent, and nothing was freed.
    def test_nothing_has_run(self):
        volume = self.volume()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy(POLICY)
        # The machine may have other volumes.
        summary = self.query("GetSummary", filter=f"uuid = {volume.uuid()}")
        self.assertEqual((summary.volume_count, summary.host_count, summary.connected_host_count),
                         (1, 1, 1))
        self.assertEqual(summary.total.freed_bytes, 0)
        self.assertFalse(summary.total.HasField("waiting_bytes"))
        self.assertFalse(summary.total.HasField("pinned_bytes"))
        self.assertEqual(summary.next[0].policy, "nightly")

    def test_runs_are_watched(self):
        volume = self.volume()
        volume.write("a", pattern(1, SIZE))
        volume.sync()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.query("GetSummary")
        stream = self.channel.unary_stream(
            "/onefold.v1.QueryService/WatchRuns",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=query.WatchRunsResponse.FromString)(
                query.WatchRunsRequest(), timeout=60)
        self.assertEqual(len(next(stream).runs), 0)
        run = self.run_now(volume)
        states = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and 4 not in states:  # RUN_STATE_COMPLETED
            for each in next(stream).runs:
                self.assertEqual(each.run_id, run["run_id"])
                states.append(each.state)
        self.assertIn(4, states)
        stream.cancel()


if __name__ == "__main__":
    case.main()
