#!/usr/bin/env python3
"""The commands that show things, of a state directory and of a fleet, on real volumes: their figures
are those of the runs, their JSON is what docs/schemas say, and a terminal is not steered by names."""

import json
import os
import pathlib
import subprocess
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "btrfs"))

import case
import fleet
from terminal import on_terminal
from volume import KIB, pattern

PAIRS = 20
SIZE = 64 * KIB
HOSTILE = b"\x1b]0;x\x07\xe2\x80\xae\n"
SCHEMAS = pathlib.Path(os.environ["ONEFOLD_SOURCE_DIR"]) / "docs/schemas"


def check(answer):
    schema = SCHEMAS / (answer["schema"] + ".json")
    if schema.exists():
        jsonschema.validate(answer, json.loads(schema.read_text()))
    return answer


class StatusTest(fleet.FleetTest):

    def filled_volume(self):
        volume = self.volume()
        for number in range(PAIRS):
            for copy in ("a", "b"):
                volume.write(f"{copy}/{number}", pattern(number, SIZE))
        volume.sync()
        return volume

    def of_state(self, *arguments, json_wanted=True, code=0):
        done = subprocess.run(
            [case.binary(), *arguments, "--state", self.state, *(["--json"] if json_wanted else [])],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return check(json.loads(done.stdout)) if json_wanted else done.stdout

    def check_figures(self, ask, uuid, freed):
        status = ask("status")
        self.assertEqual(status["space"]["freed_bytes"], freed)
        self.assertEqual(status["running_total"], 0)
        volumes = {volume["uuid"]: volume for volume in ask("volumes")["volumes"]}
        self.assertEqual(volumes[uuid]["space"]["freed_bytes"], freed)
        runs = ask("runs")["runs"]
        self.assertEqual(runs[0]["state"], "completed")
        self.assertEqual(runs[0]["volume_uuid"], uuid)
        self.assertEqual(volumes[uuid]["last_run"]["run_id"], runs[0]["run_id"])
        run = ask("run", "show", runs[0]["run_id"][:12])["run"]
        self.assertEqual(run["status"]["figures"]["bytes_freed"], freed)
        self.assertEqual(len(ask("runs", "--limit", "1")["runs"]), 1)
        self.assertEqual(ask("runs", "--active")["runs"], [])
        self.assertEqual(ask("history", uuid)["points"][-1]["freed_bytes"], freed)
        self.assertIsNotNone(ask("duplicates", uuid)["counted_at"])
        overlap = ask("overlap")
        self.assertIn(uuid, [volume["uuid"] for volume in overlap["volumes"]])
        self.assertEqual(overlap["pairs"], [])
        self.assertEqual(len(ask("hosts")["hosts"]), 1)

    def test_state_directory(self):
        error = self.of_state("status", code=1)
        self.assertEqual(error["code"], "NOT_FOUND")
        volume = self.filled_volume()
        freed = self.onefold(volume.root).report["totals"]["bytes_freed"]
        self.assertEqual(freed, PAIRS * SIZE)
        self.check_figures(self.of_state, volume.uuid(), freed)
        self.assertFalse(self.of_state("status")["served"])
        for command in (["status"], ["volumes"], ["hosts"], ["runs"], ["duplicates", volume.uuid()],
                        ["overlap"], ["history"]):
            text = self.of_state(*command, json_wanted=False)
            self.assertTrue(text)
            self.assertNotIn("\x1b", text)
        self.assertIn("1.25 MiB", self.of_state("status", json_wanted=False))
        self.assertEqual(self.of_state("duplicates", "nowhere", code=1)["code"], "NOT_FOUND")
        self.assertEqual(self.of_state("runs", "--limit", "0", code=1)["code"], "INVALID_ARGUMENT")
        self.assertEqual(self.of_state("volumes", "--filter", "colour = red", code=1)["code"],
                         "INVALID_ARGUMENT")

    def test_terminal(self):
        volume = self.filled_volume()
        self.onefold(volume.root)
        arguments = ["status", "--state", self.state]
        self.assertIn("\x1b[3", on_terminal(*arguments))
        self.assertNotIn("\x1b", on_terminal(*arguments, NO_COLOR="1"))
        for command in (["duplicates", HOSTILE.decode()], ["run", "show", HOSTILE.decode()]):
            shown = on_terminal(*command, "--state", self.state)
            self.assertNotRegex(shown, r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f\u202e]")

    def test_fleet(self):
        volume = self.filled_volume()
        self.start_coordinator()
        self.start_worker([volume.root])
        self.apply_policy('name: nightly\nselect: all\nschedule: "0 3 * * *"\n')
        ask = lambda *arguments: check(self.ask(*arguments))
        # A dry run leaves it in the index, so there are copies.
        self.await_run(self.run_now(volume, "--dry-run")["run_id"], "completed")
        duplicates = ask("duplicates", volume.uuid())
        self.assertEqual(duplicates["groups_total"], PAIRS)
        self.assertEqual(duplicates["duplicate_bytes"], PAIRS * SIZE)
        run = self.await_run(self.run_now(volume)["run_id"], "completed")
        freed = run["status"]["figures"]["bytes_freed"]
        self.assertEqual(freed, PAIRS * SIZE)
        self.check_figures(ask, volume.uuid(), freed)
        status = ask("status")
        self.assertTrue(status["served"])
        self.assertEqual(status["hosts_connected"], 1)
        self.assertEqual(status["next"][0]["policy"], "nightly")


if __name__ == "__main__":
    case.main()
