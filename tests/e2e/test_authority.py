#!/usr/bin/env python3
"""Certificates of a running fleet change: a host's before it ends, and the authority above them."""

import datetime
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
from fleet_case import PATIENCE, FleetTest, end, main
from fleet_hosts import wait_until
from volume import command

CA_CONFIG = """
[ca]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = names
x509_extensions = extensions
[names]
organizationName = optional
commonName = supplied
[extensions]
extendedKeyUsage = clientAuth
"""


class AuthorityTest(FleetTest):

    def setUp(self):
        super().setUp()
        hosts, _ = self.fleet_of(1, size="256M")
        self.host = hosts[0]
        self.identity = os.path.join(self.host.folder, "worker", "identity.pem")

    def change_authority(self, *options):
        """As an admin does: stop, change, start."""
        end(self.coordinator)
        said = subprocess.run(
            [case.binary(), "coordinator", "rotate-authority", "--config=/dev/null",
             "--state-directory", self.state, *options],
            capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.start_coordinator()

    def sees_again(self, name):
        before = self.hosts()[name]["last_seen_at"]
        wait_until(f"{name} is heard of again",
                   lambda: self.hosts()[name]["last_seen_at"] not in (None, before), 2 * PATIENCE)

    def field(self, what):
        """Of the host's certificate: "serial=…"."""
        return command("openssl", "x509", "-noout", f"-{what}", "-in", self.identity).strip()

    # Nobody has to do anything, neither those who are connected nor those who restart.
    def test_hosts_go_on_when_the_authority_changes(self):
        self.change_authority()
        self.sees_again(self.host.name)
        end(self.workers[self.host.name])
        self.start_worker(self.host)
        self.sees_again(self.host.name)
        other = self.network.host("nas2")
        self.join(other)
        self.assertIn(other.name, self.hosts())

    # After a theft nobody is let in by what the thief may have signed.
    def test_distrust(self):
        token = self.token()
        end(self.workers[self.host.name])
        before = self.hosts()[self.host.name]["last_seen_at"]
        self.change_authority("--distrust")
        self.start_worker(self.host)
        self.join(self.network.host("nas2"), token=token, code=1)
        time.sleep(5)
        # Not heard since; a coordinator that starts knows what was recorded, which may be older.
        self.assertLessEqual(self.hosts()[self.host.name]["last_seen_at"], before)
        self.assertIn("--rejoin", self.join(self.host, code=1))

    # Half of its time is over: the worker gets a new certificate and stays who it is.
    def test_host_renews_its_certificate(self):
        end(self.workers[self.host.name])
        self.make_older()
        old = self.field("serial")
        self.start_worker(self.host)
        wait_until("the certificate is renewed", lambda: self.field("serial") != old, PATIENCE)
        self.sees_again(self.host.name)
        self.assertEqual(len(self.hosts()), 1)
        self.assertEqual(os.stat(self.identity).st_mode & 0o777, 0o600)

    def make_older(self):
        """The host's certificate becomes one of the same key that began two days ago and ends
        tomorrow."""
        folder = os.path.join(self.folder, "signing")
        os.makedirs(folder)
        path = {name: os.path.join(folder, name) for name in ("config", "index", "request", "new")}
        with open(path["config"], "w", encoding="ascii") as file:
            file.write(CA_CONFIG.format(folder=folder))
        with open(path["index"], "w", encoding="ascii"):
            pass
        now = datetime.datetime.now(datetime.timezone.utc)
        begin, over = (f"{now + datetime.timedelta(days=days):%Y%m%d%H%M%SZ}" for days in (-2, 1))
        authority = os.path.join(self.state, "identity", "authority.pem")
        command("openssl", "x509", "-x509toreq", "-in", self.identity, "-signkey", self.identity,
                "-out", path["request"])
        command("openssl", "ca", "-batch", "-notext", "-config", path["config"], "-name", "ca",
                "-in", path["request"], "-cert", authority, "-keyfile", authority,
                "-startdate", begin, "-enddate", over, "-out", path["new"])
        with open(self.identity, encoding="ascii") as file:
            key = file.read().split("-----BEGIN CERTIFICATE")[0]
        with open(path["new"], encoding="ascii") as file:
            certificate = file.read()
        with open(self.identity, "w", encoding="ascii") as file:
            file.write(key + certificate)


if __name__ == "__main__":
    main()
