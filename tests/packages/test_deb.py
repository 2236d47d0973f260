#!/usr/bin/env python3
"""The Debian package in a bare minimal system with a real systemd: installed, at work, upgraded,
removed, purged.

One story, told in the order of the methods' names: each goes on where the one before it stopped.
"""

import glob
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("ONEFOLD_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
sys.path += [str(SOURCE / "tests/packages"), str(SOURCE / "tests/btrfs")]

from containers import Container, apt_settings, command, systemd_image, wait_until, why_no_containers  # noqa: E402
from volume import MIB, Volume, pattern  # noqa: E402

PACKAGES = os.environ.get("ONEFOLD_PACKAGES", str(SOURCE / "build/packages"))
UNITS = ("onefold", "onefold-coordinator", "onefold-worker")
OLDER, NEWER = "0.0.1", "9.0.0"
EVERY_MINUTE = 'allow: [/srv/data]\nschedule: "* * * * *"\n'


def the_package():
    found = glob.glob(os.path.join(PACKAGES, "onefold_*_amd64.deb"))
    return found[0] if len(found) == 1 else None


def repack(package, version, folder):
    """The same package under another version."""
    place = os.path.join(folder, version)
    command("dpkg-deb", "-R", package, place)
    control = pathlib.Path(place, "DEBIAN/control")
    lines = control.read_text().splitlines()
    control.write_text("\n".join(f"Version: {version}" if line.startswith("Version:") else line
                                 for line in lines) + "\n")
    target = os.path.join(folder, f"onefold_{version}_amd64.deb")
    command("dpkg-deb", "-b", "--root-owner-group", place, target)
    shutil.rmtree(place)
    return target


class DebTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="onefold-deb-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.packages = os.path.join(cls.folder, "packages")
        os.mkdir(cls.packages)
        for version in (OLDER, NEWER):
            repack(the_package(), version, cls.packages)
        cls.volume = Volume(cls.folder)
        cls.addClassCleanup(cls.volume.close)
        cls.box = Container(systemd_image(), [
            "--systemd=always", "--privileged", "--volume", f"{cls.packages}:/packages:ro",
            "--volume", f"{cls.volume.root}:/srv/data",
            *apt_settings()], ["/lib/systemd/systemd"])
        cls.addClassCleanup(cls.box.remove)
        wait_until("systemd is up", lambda: cls.box.run(
            "systemctl", "is-system-running", check=False).strip() in ("running", "degraded"), 60)

    def install(self, version, check=True):
        return self.box.run("apt-get", "install", "-q", "-y", "--no-install-recommends",
                            f"/packages/onefold_{version}_amd64.deb", check=check)

    def property(self, unit, name):
        return self.box.run("systemctl", "show", "--value", "--property", name, unit).strip()

    def assert_active(self, unit):
        self.assertEqual(self.property(unit, "ActiveState"), "active",
                         self.box.run("journalctl", "-u", unit, "--no-pager", check=False)[-2000:])

    def assert_clean_stop(self, unit):
        """SIGTERM, an exit with code 0 of its own, and no warning."""
        self.box.run("systemctl", "stop", unit)
        self.assertEqual(self.property(unit, "Result"), "success")
        self.assertEqual(self.property(unit, "ExecMainStatus"), "0")
        log = self.box.run("journalctl", "-u", unit, "--no-pager", "-n", "8")
        self.assertIn("stopped", log)
        self.assertNotIn("SIGKILL", log)

    def make_duplicates(self, seed):
        for name in ("a", "b", "c"):
            self.volume.write(f"{seed}/{name}", pattern(seed, 4 * MIB))
        self.volume.sync()

    def is_folded(self, seed):
        self.volume.sync()
        return self.volume.same_place(f"{seed}/a", f"{seed}/b", f"{seed}/c")

    def test_01_installs_on_a_bare_system_and_starts_nothing(self):
        self.box.run("apt-get", "update", "-q")
        self.install(OLDER)
        self.assertIn("onefold", self.box.run("onefold", "--version"))
        for unit in UNITS:
            self.assertEqual(self.property(unit, "ActiveState"), "inactive", unit)
            self.assertEqual(self.property(unit, "UnitFileState"), "disabled", unit)
        self.assertEqual(self.box.sh("ls /etc/onefold").split(),
                         ["coordinator.yaml", "onefold.yaml", "worker.yaml"])
        self.assertIn("onefold", self.box.run("getent", "passwd", "onefold"))
        self.assertEqual(self.box.sh("ls -d /var/lib/onefold* || true").count("/var/lib/onefold\n"), 0)

    def test_02_the_configuration_is_valid_as_it_comes(self):
        for role in ("coordinator", "standalone"):
            self.assertIn("valid", self.box.run("onefold", role, "--check-config"))
        self.assertIn("fleet join", self.box.run("onefold", "worker", "--check-config", check=False))
        # What is shown commented out is valid, too.
        for role, name in (("coordinator", "coordinator"), ("worker", "worker"), ("standalone", "onefold")):
            self.box.sh(f"sed 's/^#\\([a-z]\\)/\\1/' /etc/onefold/{name}.yaml >/tmp/{name}.yaml")
            self.assertIn("valid", self.box.run("onefold", role, "--check-config", "--config", f"/tmp/{name}.yaml"))

    def test_03_systemd_understands_the_units(self):
        limits = {"onefold": 60, "onefold-coordinator": 20, "onefold-worker": 60}
        for unit, limit in limits.items():
            self.assertNotIn(unit, self.box.run("systemd-analyze", "verify", f"{unit}.service"))
            self.box.run("systemd-analyze", "security", f"--threshold={limit}", f"{unit}.service")

    def test_04_the_schedule_dedupes(self):
        self.make_duplicates(1)
        self.box.write("/etc/onefold/onefold.yaml", EVERY_MINUTE)
        self.box.run("systemctl", "enable", "--now", "onefold")
        self.assert_active("onefold")
        wait_until("the schedule dedupes", lambda: self.is_folded(1), 150)
        self.assertIn("standalone", self.box.run("onefold", "run", "list"))

    def test_05_a_service_that_hangs_is_started_again(self):
        self.box.sh("mkdir -p /run/systemd/system/onefold.service.d; printf '[Service]\\nWatchdogSec=2\\n"
                    "RestartSec=1\\n' >/run/systemd/system/onefold.service.d/test.conf; systemctl daemon-reload;"
                    " systemctl restart onefold")
        first = self.property("onefold", "MainPID")
        self.box.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", "onefold")
        wait_until("the watchdog restarts it", lambda: self.property("onefold", "NRestarts") != "0"
                   and self.property("onefold", "ActiveState") == "active", 60)
        self.assertNotEqual(self.property("onefold", "MainPID"), first)
        self.box.sh("rm -r /run/systemd/system/onefold.service.d; systemctl daemon-reload;"
                    " systemctl restart onefold")
        self.assert_active("onefold")

    def test_06_an_upgrade_restarts_what_runs_and_keeps_configuration_and_state(self):
        self.box.sh("echo '# mine' >>/etc/onefold/onefold.yaml; rm /etc/onefold/worker.yaml")
        first = self.property("onefold", "MainPID")
        runs = len(json.loads(self.box.run("onefold", "run", "list", "--json"))["runs"])
        self.install(NEWER)
        self.assert_active("onefold")
        self.assertNotEqual(self.property("onefold", "MainPID"), first)
        for unit in UNITS[1:]:
            self.assertEqual(self.property(unit, "ActiveState"), "inactive", unit)
        self.assertEqual(self.box.sh("cat /etc/onefold/onefold.yaml"), EVERY_MINUTE + "# mine\n")
        self.assertFalse(self.box.succeeds("test", "-e", "/etc/onefold/worker.yaml"))
        self.assertGreaterEqual(len(json.loads(self.box.run("onefold", "run", "list", "--json"))["runs"]), runs)
        self.make_duplicates(2)
        wait_until("it dedupes after the upgrade", lambda: self.is_folded(2), 150)
        self.assert_clean_stop("onefold")

    def test_07_a_fleet_of_its_own(self):
        self.box.run("systemctl", "disable", "--now", "onefold")
        self.box.write("/etc/onefold/coordinator.yaml", "public_address: localhost:7171\n")
        self.box.run("systemctl", "enable", "--now", "onefold-coordinator")
        self.assert_active("onefold-coordinator")
        self.assertNotEqual(self.box.sh("stat -c %U /var/lib/onefold-coordinator").strip(), "root")
        token = self.box.sh("onefold fleet token create 2>/dev/null").split()[-1]
        self.box.run("onefold", "fleet", "join", token, "--allow", "/srv/data")
        self.box.run("systemctl", "enable", "--now", "onefold-worker")
        self.assert_active("onefold-worker")
        self.make_duplicates(3)
        wait_until("the worker is connected", lambda: "/srv/data" in self.box.run(
            "onefold", "fleet", "list", check=False), 30)
        self.box.run("onefold", "run", "now", "--selector", "all", "--watch", check=False)
        wait_until("the fleet dedupes", lambda: self.is_folded(3), 30)
        self.assert_clean_stop("onefold-worker")
        self.assert_clean_stop("onefold-coordinator")
        self.box.run("systemctl", "start", "onefold-coordinator", "onefold-worker")

    def test_08_removing_stops_and_keeps(self):
        self.box.run("apt-get", "remove", "-q", "-y", "onefold")
        for unit in UNITS:
            self.assertNotEqual(self.property(unit, "ActiveState"), "active", unit)
        self.assertEqual(self.box.sh("find /etc/systemd/system -name 'onefold*'"), "")
        self.assertFalse(self.box.succeeds("test", "-e", "/usr/bin/onefold"))
        self.assertTrue(self.box.succeeds("test", "-e", "/var/lib/onefold-coordinator/identity/authority.pem"))
        self.assertIn("mine", self.box.sh("cat /etc/onefold/onefold.yaml"))

    def test_09_comes_back_with_what_it_knew(self):
        self.install(NEWER)
        self.assertIn("mine", self.box.sh("cat /etc/onefold/onefold.yaml"))
        self.box.run("systemctl", "start", "onefold-coordinator", "onefold-worker")
        wait_until("the worker is known", lambda: "connected" in self.box.run(
            "onefold", "fleet", "list", check=False), 30)

    def test_10_purging_takes_our_state_and_nothing_else(self):
        self.box.sh("touch /etc/onefold/nightly.yaml; mkdir /var/lib/onefold; touch /var/lib/onefold-mine")
        self.box.run("apt-get", "purge", "-q", "-y", "onefold")
        self.assertEqual(self.box.sh("ls -d /var/lib/onefold*").split(), ["/var/lib/onefold-mine"])
        self.assertEqual(self.box.sh("ls /etc/onefold").split(), ["nightly.yaml"])
        self.assertEqual(self.volume.read("1/a"), pattern(1, 4 * MIB))
        self.assertEqual(self.volume.read("3/c"), pattern(3, 4 * MIB))


if __name__ == "__main__":
    reason = "no package in build/packages (./dev package makes it)" if the_package() is None \
        else why_no_containers()
    if reason:
        print(f"SKIP: deb: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2, failfast=True)
