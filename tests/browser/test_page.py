#!/usr/bin/env python3
"""The web page in Debian's chromium, on a running fleet of two hosts. page.test.mjs is the other half."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "btrfs")]

import case  # noqa: E402
import fleet_case  # noqa: E402
from fleet_hosts import why_no_hosts  # noqa: E402
from volume import KIB, pattern  # noqa: E402

WEB = "127.0.0.1:7180"
# Names that would be markup, or turn the line around, if anybody let them.
HOSTILE_LABEL = "<b>x</b>&\"'"
HOSTILE_FILE = b"<img src=x onerror=document.title='owned'>\xff\xe2\x80\xaegpj.exe"


def why_no_browser():
    for program in ("chromium", "node", "npm"):
        if shutil.which(program) is None:
            return f"no {program} here"
    return ""


def modules():
    """Where playwright-core and axe-core are, installed by the lock file. None: they cannot be had."""
    folder = pathlib.Path.cwd() / "modules"
    lock = HERE / "package-lock.json"
    if not (folder / "package-lock.json").exists() or (folder / "package-lock.json").read_bytes() != lock.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(HERE / "package.json", folder)
        shutil.copy(lock, folder)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            return None
    return folder


class PageTest(fleet_case.FleetTest):

    def test_the_page(self):
        packages = modules()
        if packages is None:
            self.skipTest("npm cannot fetch playwright-core and axe-core: no network")
        hosts = [self.network.host(f"nas{number}") for number in (1, 2)]
        volumes = [self.host_volume(hosts[0], "films"), self.host_volume(hosts[1], HOSTILE_LABEL)]
        self.start_coordinator(hosts[0], web_listen=WEB)
        for host, volume in zip(hosts, volumes):
            self.add_worker(host, [volume.place])
        self.wait_connected(2)
        for volume in volumes:
            self.fill(volume, 40)
            for name in (HOSTILE_FILE, HOSTILE_FILE + b"2"):
                with open(os.path.join(os.fsencode(volume.root), name), "wb") as file:
                    file.write(pattern(777, 256 * KIB))
            volume.sync()
        self.apply("name: nightly\nselect: all\nschedule: \"30 2 * * *\"\nwindow: \"22:00-06:00\"\n")
        # One run that has ended, so that there is something to see.
        first = self.start_run("--selector", "label=films")[0]
        self.wait_ended(first["run_id"])
        links = {role: self.ask("fleet", "user", "add", f"a-{role}", "--role", role, "--web")["sign_in"]
                 for role in ("viewer", "operator")}
        shots = pathlib.Path.cwd() / "screenshots"
        shutil.rmtree(shots, ignore_errors=True)
        shots.mkdir(parents=True)
        environment = {**os.environ, "NODE_PATH": str(packages / "node_modules"), "HOME": self.folder}
        described = {"links": links, "screenshots": str(shots), "modules": str(packages / "node_modules"),
                     "browser": shutil.which("chromium"), "label": HOSTILE_LABEL,
                     "uuids": [volume.uuid() for volume in volumes]}
        done = subprocess.run(
            hosts[0].inside([shutil.which("node"), "--test", "--test-reporter=spec", str(HERE / "page.test.mjs")]),
            env={**environment, "ONEFOLD_PAGE": json.dumps(described)}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=900)
        print(done.stdout[-8000:])
        self.assertEqual(done.returncode, 0, done.stdout[-12000:] + done.stderr[-4000:])
        # What was started from the page is a run like any other, and its figures are the same everywhere.
        runs = [run for run in self.ask("run", "list")["runs"] if run["run_id"] != first["run_id"]]
        self.assertTrue(any(run["state"] == "completed" and not run["dry_run"] for run in runs), runs)


def main():
    reason = case.why_no_volumes() or why_no_hosts() or why_no_browser()
    if reason:
        print(f"SKIP: {os.path.basename(sys.argv[0])}: {reason}")
        sys.exit(77)
    case.main()


if __name__ == "__main__":
    main()
