#!/usr/bin/env python3
"""The coordinator's state: kept through kills and full disks, backed up, restored, asked by programs
of another version."""

import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
import raw_grpc
from fleet_case import PATIENCE, FleetTest, end, main
from fleet_hosts import wait_until
from volume import command


class StateTest(FleetTest):

    def setUp(self):
        super().setUp()
        self.host = self.network.host("nas1")

    @staticmethod
    def policy(number):
        return f"name: p{number}\nselect: all\nschedule: '@daily'\n"

    def names(self):
        return [policy["name"] for policy in self.ask("policy", "list")["policies"]]

    # What was acknowledged is there after kill -9 at any moment.
    def test_kills_lose_nothing(self):
        numbers = random.Random(case.SEED)
        print(f"ONEFOLD_SEED={case.SEED}", file=sys.stderr)
        self.start_coordinator(self.host)
        authority = self.ask("fleet", "user", "add", "anna", "--role", "admin", "--output",
                             os.path.join(self.folder, "anna.pem"))
        kept = []
        for round_number in range(5):
            for _ in range(numbers.randrange(1, 4)):
                self.apply(self.policy(len(kept)))
                kept.append(f"p{len(kept)}")
            self.coordinator.kill()
            self.coordinator.wait()
            self.start_coordinator()
            self.assertEqual(sorted(self.names()), sorted(kept), round_number)
        self.ask("fleet", "list", "--identity", authority["bundle"])

    # A full disk is refused politely, loses nothing, and is no reason to start anew.
    def test_full_disk(self):
        self.mount("tmpfs", self.state, "-t", "tmpfs", "-o", "size=64m,mode=700")
        self.start_coordinator(self.host)
        self.apply(self.policy(0))
        filler = os.path.join(self.state, "filler")
        command("dd", "if=/dev/zero", f"of={filler}", "bs=64K", check=False)
        refused = None
        for number in range(1, 400):  # what is open already may have room
            text = self.policy(number) + f"excludes: [{'x' * 3000}]\n"
            answer = self.apply(text, code=None)
            if answer["schema"] == "onefold.error.v1":
                refused = answer
                break
        self.assertIsNotNone(refused, "the disk is full, and everything was taken")
        self.assertEqual(refused["code"], "RESOURCE_EXHAUSTED", refused)
        names = self.names()
        self.assertNotIn(f"p{number}", names)
        self.assertIn("p0", names)
        os.unlink(filler)
        wait_until("it goes on", lambda: self.apply(self.policy(number), code=None)["schema"]
                   == "onefold.policy_changes.v1", PATIENCE)
        self.coordinator.kill()
        self.coordinator.wait()
        self.start_coordinator()
        self.assertEqual(sorted(self.names()), sorted(names + [f"p{number}"]))

    # A backup made while it serves is a whole coordinator: same authority, same policies.
    def test_backup_and_restore(self):
        self.start_coordinator(self.host)
        self.apply(self.policy(0))
        bundle = os.path.join(self.folder, "anna.pem")
        self.ask("fleet", "user", "add", "anna", "--role", "admin", "--output", bundle)
        backup = os.path.join(self.folder, "backup")
        config = os.path.join(self.host.folder, "coordinator.yaml")
        command(*self.host.inside([case.binary(), "coordinator", "backup", backup,
                                   "--config", config]))
        self.apply(self.policy(1))
        end(self.coordinator)
        os.rename(self.state, self.state + ".lost")
        command("cp", "-a", backup, self.state)
        self.start_coordinator()
        self.assertEqual(self.names(), ["p0"])
        self.ask("fleet", "list", "--identity", bundle, host=self.host,
                 coordinator=f"{self.host.address}")

    # SIGTERM ends it cleanly within 10 s, also while somebody watches.
    def test_sigterm(self):
        self.start_coordinator(self.host)
        began = time.monotonic()
        self.assertEqual(end(self.coordinator, 11), 0)
        self.assertLess(time.monotonic() - began, 10)


class VersionTest(FleetTest):

    def setUp(self):
        super().setUp()
        self.host = self.network.host("nas1")
        self.start_coordinator(self.host)

    # A newer client says more than this coordinator knows: the rest counts.
    def test_unknown_fields_in_requests(self):
        future = raw_grpc.field(1001, b"from the future") + raw_grpc.field(1002, 7)
        self.assertIsNotNone(raw_grpc.call(
            self.socket, "/onefold.v1.AdminService/ListHosts", future))
        yaml = raw_grpc.field(1, b"name: p0\nselect: all\n")
        self.assertIsNotNone(raw_grpc.call(
            self.socket, "/onefold.v1.AdminService/ApplyPolicies", future + yaml + future))
        self.assertEqual([p["name"] for p in self.ask("policy", "list")["policies"]], ["p0"])

    # A worker one minor ahead: its report has fields, volumes and states that are new.
    def test_unknown_fields_in_a_report(self):
        f = raw_grpc.field
        volume = f(1, b"\x01" * 16) + f(2, b"data") + f(3, b"/srv") + f(900, b"new")
        report = f(1, b"nas9") + f(3, volume) + f(901, 3)
        answer = raw_grpc.call(self.socket, "/onefold.v1.CoordinatorService/Sync",
                               self.sync_request(report) + f(902, b"new"))
        self.assertIsNotNone(answer, "Sync failed")
        self.assertIn("nas9", self.hosts())

    @staticmethod
    def sync_request(report):
        """See coordinator_service.proto."""
        f = raw_grpc.field
        return f(1, b"host-nine") + f(2, b"0.2.0") + f(4, report)

    # Garbage is refused and hurts nobody.
    def test_garbage(self):
        numbers = random.Random(case.SEED)
        for method in ("AdminService/StartRuns", "CoordinatorService/Sync", "EnrollmentService/Join"):
            for size in (1, 100, 10_000):
                try:
                    raw_grpc.call(self.socket, f"/onefold.v1.{method}", numbers.randbytes(size))
                except OSError:
                    pass
        self.ask("fleet", "list")
        self.assertIsNone(self.coordinator.poll())

    # Reads well for programs: one object a line, also for what is wrong.
    def test_json_errors(self):
        for arguments in (("run", "watch", "nothing"), ("policy", "show", "nothing"),
                          ("fleet", "drain", "nothing"), ("run", "list", "--limit", "x")):
            answer = self.ask(*arguments, code=1)
            self.assertEqual(answer["schema"], "onefold.error.v1", answer)
            json.dumps(answer)


if __name__ == "__main__":
    main()
