#!/usr/bin/env python3
"""A fleet of real binaries on three hosts: joining, schedules, and what must not stop it."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
import raw_grpc
from fleet_case import PATIENCE, FleetTest, end, main
from fleet_hosts import PORT, HostVolume, socket_accepts, wait_until
from manifest import layout, manifest
from volume import KIB, MIB, command

# A run of this many pairs, at this many requests a second, takes about 12 s.
PAIRS = 240
REQUESTS_PER_SECOND = 20


class JoinTest(FleetTest):

    # Three hosts, one policy with a schedule, nobody at the keyboard: everything is folded once.
    def test_schedule_dedupes_everywhere(self):
        hosts, volumes = self.fleet_of(3)
        listed = self.hosts()
        self.assertEqual(sorted(listed), ["nas1", "nas2", "nas3"])
        for host, volume in zip(hosts, volumes):
            reported = {v["label"]: v for v in listed[host.name]["volumes"]}
            self.assertEqual(reported["data" + host.name[-1]]["allowed_roots"], [volume.place])
        expected = [self.fill(volume, 8) for volume in volumes]
        used = [volume.used_data() for volume in volumes]
        before = [manifest(volume.root) for volume in volumes]
        shown = self.apply("name: often\nselect: all\nschedule: '* * * * *'\n", dry_run=True)
        self.assertEqual(shown["changes"][0]["kind"], "created", shown)
        self.assertEqual(len(shown["changes"][0]["selected_volumes"]), 3, shown)
        self.assertEqual(self.ask("policy", "list")["policies"], [])
        self.apply("name: often\nselect: all\nschedule: '* * * * *'\n")

        def all_completed():
            runs = self.ask("run", "list")["runs"]
            done = {run["volume_uuid"] for run in runs if run["state"] == "completed"}
            return len(done) == 3 and runs
        runs = wait_until("three runs are completed", all_completed, 70 + 2 * PATIENCE)
        self.assertEqual({run["policy"] for run in runs}, {"often"})
        for volume, bytes_expected, bytes_used, files in zip(volumes, expected, used, before):
            self.assertEqual(bytes_used - volume.used_data(), bytes_expected)
            self.assertEqual(manifest(volume.root), files)
        freed = sum(self.freed(run) for run in runs if run["state"] == "completed")
        self.assertEqual(freed, sum(expected), runs)

    # Without --allow nothing is touched, whatever the coordinator wants, and it says what to type.
    def test_nothing_is_touched_that_the_host_does_not_allow(self):
        host = self.network.host("nas1")
        volume = self.host_volume(host, "data1")
        self.fill(volume, 4)
        before = layout(volume.root)
        self.start_coordinator(host)
        self.add_worker(host, [])
        self.wait_connected(1)
        listed = self.hosts()["nas1"]
        self.assertEqual([v["allowed_roots"] for v in listed["volumes"]], [[]], listed)
        self.assertTrue(any("allow" in advice for advice in listed["advice"]), listed)
        refused = self.ask("run", "now", "--selector", "all", code=1)
        self.assertEqual((refused["runs"], len(refused["refused"])), ([], 1), refused)
        self.assertEqual(layout(volume.root), before)

    # The roots of a policy narrow what the host allows and never widen it.
    def test_policy_roots_only_narrow(self):
        host = self.network.host("nas1")
        volume = self.host_volume(host, "data1")
        self.fill(volume, 4)
        for name in ("c", "d"):  # not allowed
            volume.write(f"other/{name}", b"x" * MIB, sync=True)
        before = layout(volume.root)
        used = volume.used_data()
        self.start_coordinator(host)
        self.add_worker(host, [f"{volume.place}/a", f"{volume.place}/b"])
        self.wait_connected(1)
        self.apply("name: wide\nselect: all\nroots: ['./a', './b', './other']\n")
        run = self.wait_ended(self.start_run("data1")[0]["run_id"])
        self.assert_untouched(volume, ["other/c", "other/d"], before)
        self.check_freed(volume, run, used, 4 * 64 * KIB)

    # A token that somebody saw is of no use once it was used, or when its time is over.
    def test_token_is_good_once(self):
        hosts = [self.network.host(f"nas{number}") for number in (1, 2)]
        self.start_coordinator(hosts[0])
        token = self.token()
        self.join(hosts[0], token=token)
        said = self.join(hosts[1], token=token, code=1)
        self.assertRegex(said, "token", said)
        short = self.ask("fleet", "token", "create", "--ttl", "1s")["token"]
        time.sleep(1.5)
        self.join(hosts[1], token=short, code=1)
        # A token of another fleet: its fingerprint tells, before the secret is sent.
        self.assertEqual(sorted(self.hosts()), ["nas1"])


class PeopleTest(FleetTest):

    def setUp(self):
        super().setUp()
        self.host = self.network.host("nas1")
        self.other = self.network.host("nas2")
        self.start_coordinator(self.host)

    def person(self, name, role, **options):
        path = os.path.join(self.folder, f"{name}.pem")
        if os.path.exists(path):
            os.unlink(path)
        self.ask("fleet", "user", "add", name, "--role", role, "--output", path, **options)
        return path

    def as_person(self, bundle, *arguments, code=0):
        """From another host, over TLS."""
        return self.ask(*arguments, "--identity", bundle, code=code, host=self.other,
                        coordinator=f"{self.host.address}:{PORT}")

    # Each role may do what it says, from any machine.
    def test_roles(self):
        viewer = self.person("vera", "viewer")
        operator = self.person("otto", "operator")
        admin = self.person("anna", "admin")
        self.assertEqual(os.stat(viewer).st_mode & 0o777, 0o600)
        for bundle in (viewer, operator, admin):
            self.as_person(bundle, "fleet", "list")
        self.assertEqual(self.as_person(viewer, "run", "now", "--selector", "all", code=1)["code"],
                         "PERMISSION_DENIED")
        self.assertNotEqual(
            self.as_person(operator, "run", "now", "--selector", "all", code=1).get("code"),
            "PERMISSION_DENIED")
        self.assertEqual(self.as_person(operator, "fleet", "token", "create", code=1)["code"],
                         "PERMISSION_DENIED")
        self.as_person(admin, "fleet", "token", "create")

    # Who is removed is out at once: of what is open, too.
    def test_removed_person(self):
        bundle = self.person("vera", "viewer")
        f = raw_grpc.field
        volume = f(1, b"\x01" * 16) + f(2, b"data") + f(3, b"/srv") + f(4, b"/srv")
        raw_grpc.call(self.socket, "/onefold.v1.CoordinatorService/Sync",
                      f(1, b"host-nine") + f(4, f(1, b"nas9") + f(3, volume)))
        run_id = self.start_run("data")[0]["run_id"]  # its host will never call again
        watch = self.host_start_watch(run_id, bundle)
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        self.assertIn(run_id, watch.stdout.readline())
        self.ask("fleet", "user", "remove", "vera", code=1)  # only shown
        self.as_person(bundle, "fleet", "list")
        self.assertTrue(self.ask("fleet", "user", "remove", "vera", "--yes")["removed"])
        self.assertEqual(self.as_person(bundle, "fleet", "list", code=1)["code"],
                         "UNAUTHENTICATED")
        self.assertNotEqual(watch.wait(PATIENCE), 0)
        self.assertEqual(self.ask("fleet", "user", "list")["users"], [])
        self.assertIn("a person was removed name=vera by=local",
                      self.log(self.host, "coordinator.log"))
        # A new one is a new start, and whoever is given another certificate has only that.
        first = os.path.join(self.folder, "first.pem")
        os.rename(self.person("vera", "viewer"), first)
        self.as_person(first, "fleet", "list")
        second = self.person("vera", "operator")
        self.as_person(second, "fleet", "list")
        self.assertEqual(self.as_person(first, "fleet", "list", code=1)["code"], "UNAUTHENTICATED")

    def host_start_watch(self, run_id, bundle):
        return subprocess.Popen(
            self.other.inside([case.binary(), "run", "watch", run_id, "--json", "--identity", bundle,
                               "--coordinator", f"{self.host.address}:{PORT}"]),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ)

    # Nobody without a certificate of this fleet gets an answer.
    def test_strangers(self):
        address = f"{self.host.address}:{PORT}"
        self.assertEqual(self.ask("fleet", "list", code=1, host=self.other, coordinator=address)
                         ["code"], "FAILED_PRECONDITION")
        refused = self.ask("fleet", "list", "--insecure", code=1, host=self.other,
                           coordinator=address)
        self.assertIn(refused["code"], ("UNAVAILABLE", "UNAUTHENTICATED"))
        # A bundle whose certificate is of another fleet.
        ours = self.person("anna", "admin")
        end(self.coordinator)
        os.rename(self.state, self.state + ".first")
        self.start_coordinator()
        theirs = self.person("bert", "admin")
        self.as_person(theirs, "fleet", "list")
        refused = self.as_person(ours, "fleet", "list", code=1)
        self.assertIn(refused["code"], ("UNAVAILABLE", "UNAUTHENTICATED"), refused)

    # A certificate that has ended is none, whoever signed it.
    def test_expired_certificate(self):
        bundle = self.person("anna", "admin")
        self.as_person(bundle, "fleet", "list")
        expired = self.signed_again(bundle, days=0)
        time.sleep(1.5)
        refused = self.as_person(expired, "fleet", "list", code=1)
        self.assertIn(refused["code"], ("UNAVAILABLE", "UNAUTHENTICATED"), refused)
        # The same with a day to go: what was refused was its time.
        self.as_person(self.signed_again(bundle, days=1), "fleet", "list")

    def signed_again(self, bundle, days):
        """The same key and names, by the same authority, for another time."""
        folder = os.path.join(self.folder, "signing")
        os.makedirs(folder, exist_ok=True)
        with open(bundle, encoding="ascii") as file:
            text = file.read()
        head = text[:text.index("-----BEGIN")]
        parts = [part + "-----\n" for part in text[text.index("-----BEGIN"):].split("-----\n")]
        pem = "".join(parts).split("-----BEGIN ")[1:]
        pem = ["-----BEGIN " + block.rstrip("-\n") + "-----\n" for block in pem]
        paths = {name: os.path.join(folder, name) for name in
                 ("key", "old", "request", "new", "authority", "authority_key", "extensions")}
        for name, block in zip(("key", "old", "authority"), pem):
            with open(paths[name], "w", encoding="ascii") as file:
                file.write(block)
        key = os.path.join(self.state, "identity", "authority.pem")
        command("cp", key, paths["authority_key"])
        with open(paths["extensions"], "w", encoding="ascii") as file:
            file.write("extendedKeyUsage=clientAuth\n")
        command("openssl", "x509", "-x509toreq", "-in", paths["old"], "-signkey", paths["key"],
                "-out", paths["request"])
        command("openssl", "x509", "-req", "-in", paths["request"], "-CA", paths["authority"],
                "-CAkey", paths["authority_key"], "-set_serial", str(time.time_ns()), "-days", days,
                "-extfile", paths["extensions"], "-out", paths["new"])
        path = os.path.join(self.folder, f"signed-{days}.pem")
        with open(paths["new"], encoding="ascii") as file:
            new = file.read()
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                  encoding="ascii") as file:
            file.write(head + pem[0] + new + pem[2])
        return path


class DisturbedTest(FleetTest):
    """Three hosts; the run on the third is disturbed while it works, and everything comes out right."""

    def begin(self, count=2, pairs=PAIRS):
        self.fleet = self.fleet_of(count)
        hosts, volumes = self.fleet
        self.host, self.volume = hosts[-1], volumes[-1]
        self.expected = self.fill(self.volume, pairs)
        self.before = manifest(self.volume.root)
        self.used = self.volume.used_data()
        label = f"data{count}"
        self.throttled(label, REQUESTS_PER_SECOND)
        run_id = self.start_run(label)[0]["run_id"]
        self.wait_working(run_id)
        return run_id

    def check_end(self, run_id, state="completed"):
        run = self.wait_ended(run_id, state)
        self.check_freed(self.volume, run, self.used, self.expected, self.before)
        # Nothing is left: another run makes no request.
        again = self.wait_ended(self.start_run(f"data{len(self.fleet[0])}")[0]["run_id"])
        self.assertEqual(again["status"]["figures"]["dedupe_requests"], 0, again)

    # It works on for as long as it may, and stops by itself when its lease is over: the volume may be
    # another's by then.
    def test_partition_both_ways(self):
        self.settings = {"lease": "10s"}
        run_id = self.begin(3, pairs=2 * PAIRS)
        coordinator = self.coordinator_host
        self.host.drop("OUTPUT", coordinator)
        self.host.drop("INPUT", coordinator)
        wait_until("it has stopped", self.stands_still, PATIENCE)
        self.assertLess(self.used - self.volume.used_data(), self.expected, "nothing stopped it")
        self.ask("fleet", "list")  # the others are served meanwhile
        self.host.heal()
        self.check_end(run_id)

    def stands_still(self, seconds=4):
        before = self.volume.used_data()
        time.sleep(seconds)
        return self.volume.used_data() == before

    def test_partition_one_way_out(self):
        run_id = self.begin()
        self.host.drop("OUTPUT", self.coordinator_host)
        time.sleep(8)
        self.host.heal()
        self.check_end(run_id)

    def test_partition_one_way_in(self):
        run_id = self.begin()
        self.host.drop("INPUT", self.coordinator_host)
        time.sleep(8)
        self.host.heal()
        self.check_end(run_id)

    def test_worker_killed(self):
        run_id = self.begin()
        worker = self.workers[self.host.name]
        worker.kill()
        worker.wait()
        self.start_worker(self.host)
        run = self.wait_ended(run_id)
        self.assertEqual(self.used - self.volume.used_data(), self.expected, run)
        self.assertEqual(manifest(self.volume.root), self.before)

    def test_coordinator_killed(self):
        run_id = self.begin()
        self.coordinator.kill()
        self.coordinator.wait()
        time.sleep(3)
        self.start_coordinator()
        self.check_end(run_id)

    def test_both_end_in_time_on_sigterm(self):
        run_id = self.begin()
        self.assertEqual(end(self.workers[self.host.name], 12), 0)
        self.assertEqual(end(self.coordinator, 12), 0)
        self.start_coordinator()
        self.start_worker(self.host)
        self.check_end(run_id)

    def test_pause_resume_drain_cancel(self):
        run_id = self.begin(pairs=5 * PAIRS)  # far from its end when it is cancelled
        self.ask("run", "pause", run_id[:8])
        wait_until("the run is paused", lambda: self.run_of(run_id)["state"] == "paused", PATIENCE)
        time.sleep(3)
        used = self.volume.used_data()
        time.sleep(3)
        self.assertEqual(self.volume.used_data(), used, "a paused run goes on working")
        self.ask("run", "resume", run_id)
        self.wait_working(run_id)
        self.ask("fleet", "drain", self.host.name)
        wait_until("the run waits", lambda: self.run_of(run_id)["state"] == "waiting", PATIENCE)
        self.assertTrue(self.hosts()[self.host.name]["drained"])
        self.ask("fleet", "resume", self.host.name)
        self.wait_working(run_id)
        self.ask("run", "cancel", run_id)
        run = self.wait_ended(run_id, "cancelled")
        self.assertEqual(self.ask("run", "watch", run_id, code=2)["run"]["state"], "cancelled")
        drop = self.used - self.volume.used_data()
        self.assertGreater(drop, 0, run)
        self.assertLess(drop, self.expected, run)

    # A host that was forgotten is a stranger from its next call on.
    def test_forgotten_host(self):
        run_id = self.begin()
        self.ask("fleet", "forget", self.host.name, code=1)
        self.assertIn(self.host.name, self.hosts())
        self.ask("fleet", "forget", self.host.name, "--yes")
        wait_until("it stops working", lambda: self.run_of(run_id)["ended_at"], 2 * PATIENCE)
        self.assertNotIn(self.host.name, self.hosts())
        time.sleep(10)
        self.assertNotIn(self.host.name, self.hosts(), "it came back")
        end(self.workers[self.host.name])
        used = self.volume.used_data()
        time.sleep(2)
        self.assertEqual(self.volume.used_data(), used)


class ShardTest(FleetTest):
    """Two coordinators that share an authority and divide the volumes."""

    def setUp(self):
        super().setUp()
        self.homes = [self.network.host(f"nas{number}") for number in (1, 2)]
        shards = [f"{host.address}:{PORT}" for host in self.homes]
        self.start_coordinator(self.homes[0], shards=shards, shard_index=0)
        self.other_socket = os.path.join(self.folder, "other.sock")
        state = os.path.join(self.folder, "other")
        os.makedirs(os.path.join(state, "identity"), mode=0o700)
        for name in ("authority.pem", "token.key"):
            shutil.copy2(os.path.join(self.state, "identity", name),
                         os.path.join(state, "identity", name))
        self.write_config(self.homes[1], "coordinator.yaml", {
            "listen": [f"0.0.0.0:{PORT}", f"unix:{self.other_socket}"], "shards": shards,
            "shard_index": 1, "state_directory": state})
        self.homes[1].start(
            [case.binary(), "coordinator", "--config",
             os.path.join(self.homes[1].folder, "coordinator.yaml")], log="coordinator.log")
        wait_until("the second one serves", lambda: socket_accepts(self.other_socket), PATIENCE)
        self.shards = shards

    def uuid_for(self, shard):
        """A uuid that belongs to it."""
        for _ in range(100):
            candidate = uuid.uuid4()
            answer = raw_grpc.call(self.socket, "/onefold.v1.CoordinatorService/GetAssignment",
                                   raw_grpc.field(1, candidate.bytes))
            # Of its own volumes the one that is asked names nobody.
            named = [each for each in self.shards if each.encode() in answer]
            if (named or self.shards[:1]) == [shard]:
                return str(candidate)
        self.fail(f"nothing belongs to {shard}")

    # A host that has joined one of them works for both, each of which has what is its own.
    def test_each_has_its_volumes(self):
        host = self.network.host("nas3")
        sockets = [self.socket, self.other_socket]
        volumes = []
        for number, shard in enumerate(self.shards):
            volumes.append(HostVolume(host, mkfs=["-L", f"data{number}", "-U", self.uuid_for(shard)],
                                      size="256M"))
            self._undo.insert(-1, volumes[-1].close)
        expected = [self.fill(volume, 8 + 8 * number) for number, volume in enumerate(volumes)]
        used = [volume.used_data() for volume in volumes]
        self.add_worker(host, [volume.place for volume in volumes])
        for number, volume in enumerate(volumes):
            self.socket = sockets[number]
            wait_until("its volume is there", lambda: [
                known["label"] for host in self.hosts().values() for known in host["volumes"]]
                == [f"data{number}"], PATIENCE)
            run = self.wait_ended(self.start_run("--selector", "all")[0]["run_id"])
            self.check_freed(volume, run, used[number], expected[number])


class SlowLinkTest(FleetTest):

    # 100 ms each way and two packets of a hundred lost, as over a bad DSL line.
    def test_slow_and_lossy(self):
        hosts = [self.network.host(f"nas{number}") for number in (1, 2)]
        self.slow_link(hosts, 0.1, 0.02)
        volume = self.host_volume(hosts[1], "data2")
        expected = self.fill(volume, 40)
        used, before = volume.used_data(), manifest(volume.root)
        self.start_coordinator(hosts[0])
        self.add_worker(hosts[1], [volume.place], at=f"10.78.0.1:{PORT}")
        self.wait_connected(1)
        run = self.wait_ended(self.start_run("data2")[0]["run_id"])
        self.check_freed(volume, run, used, expected, before)

    def slow_link(self, hosts, delay, loss):
        script = pathlib.Path(__file__).resolve().parent / "slow_link.py"
        if not os.path.exists("/dev/net/tun"):
            self.skipTest("needs /dev/net/tun")
        link = subprocess.Popen([sys.executable, script, hosts[0].netns, hosts[1].netns, str(delay),
                                 str(loss), str(case.SEED)], stdout=subprocess.PIPE)
        self.addCleanup(self._end, link)
        self.assertEqual(link.stdout.readline(), b"ready\n")


class VolumeTest(FleetTest):

    # A disk that is moved to another host keeps its index: nothing is scanned again.
    def test_volume_moves_to_another_host(self):
        hosts, volumes = self.fleet_of(2)
        volume = volumes[0]
        expected = self.fill(volume, 8)
        used = volume.used_data()
        run = self.wait_ended(self.start_run("data1")[0]["run_id"])
        self.check_freed(volume, run, used, expected)
        volume.unmount()
        moved = HostVolume(hosts[1], image=volume.image)
        self._undo.insert(-1, moved.close)
        end(self.workers["nas2"])
        self.write_allow(hosts[1], [volumes[1].place, moved.place])
        self.start_worker(hosts[1])

        def arrived():
            return any(v["label"] == "data1" and v["allowed_roots"]
                       for v in self.hosts()["nas2"]["volumes"])
        wait_until("the volume is seen on its new host", arrived, PATIENCE)

        # It belongs to the first host until that one has said that it is gone.
        def begun():
            answer = self.ask("run", "now", "nas2:" + moved.place, code=None)
            return answer.get("runs")
        runs = wait_until("the volume is its new host's", begun, PATIENCE)
        run = self.wait_ended(runs[0]["run_id"])
        self.assertEqual(run["status"]["figures"]["dedupe_requests"], 0, run)

    def write_allow(self, host, paths):
        path = os.path.join(host.folder, "worker.yaml")
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        kept, skipping = [], False
        for line in lines:
            skipping = line.startswith("allow:") or (skipping and line[:1] in (" ", "-"))
            if not skipping:
                kept.append(line)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(kept) + f"\nallow: {paths!r}\n")

    # A copy made with dd appears on another host while the original's host is not heard: neither is
    # touched, and it says what to do. (One kernel mounts no two filesystems of one uuid.)
    def test_clone_on_another_host(self):
        hosts, volumes = self.fleet_of(2)
        self.fill(volumes[0], 4)
        self.workers["nas1"].kill()
        self.workers["nas1"].wait()
        volumes[0].unmount()
        image = os.path.join(hosts[1].folder, "clone.img")
        command("cp", "--sparse=always", volumes[0].image, image)
        clone = HostVolume(hosts[1], image=image)
        self._undo.insert(-1, clone.close)
        before = layout(clone.root)
        self.write_allow(hosts[1], [volumes[1].place, clone.place])
        end(self.workers["nas2"])
        self.start_worker(hosts[1])
        said = wait_until("the clone is noticed", lambda: [
            advice for advice in self.hosts()["nas2"]["advice"] if "nas1" in advice], PATIENCE)
        self.assertIn("btrfstune", said[0])
        self.ask("run", "now", f"nas2:{clone.place}", code=1)
        time.sleep(6)
        self.assertEqual(layout(clone.root), before)


if __name__ == "__main__":
    main()
